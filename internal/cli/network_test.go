// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/negotiate"
)

var noBetter = []negotiate.Rejected{
	{Backend: negotiate.BackendCUDA, Reason: negotiate.ReasonNotAccepted}, {Backend: negotiate.BackendSHM, Reason: negotiate.ReasonDifferentHost},
}

// announcedBy is a stream as a camd of another host announces it.
func announcedBy(host, boot string) negotiate.Announcement {
	return negotiate.Announcement{
		Host: host, BootID: boot, Session: "00ff", PID: 7,
		Stream: negotiate.StreamInfo{
			Name: "front/color", Camera: "front", Source: "v4l2", State: "running", IntervalNS: 33_333_333, Subscribed: 2,
			Topic: "/front/color/image_raw", Host: host,
		},
		Subscribers: []negotiate.AnnouncedSubscriber{
			{Backend: negotiate.BackendSHM, Client: "recorder"},
			{Backend: negotiate.BackendCPU, Host: "laptop", Client: "camsub hz", Rejected: noBetter, Since: time.Unix(1_700_000_000, 0)},
		},
		Topics: []negotiate.AnnouncedTopic{{Topic: "/front/color/image_raw", Type: "sensor_msgs/msg/Image"}},
	}
}

// Streams of other hosts beside those of this one, which announce themselves as
// well; and a stream that is announced and not published.
func TestNetworkGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"network.txt":       {"list"},
		"network.json":      {"list", "--format", "json"},
		"network.csv":       {"list", "--format", "csv"},
		"network-info.txt":  {"info", "front/color"},
		"network-info.json": {"info", "robot:front/color", "--format", "json"},
		"readers.txt":       {"info", "test/color"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFake(t)
			s.topics = []client.Topic{}
			s.listed[0].Session = "aa"
			own := announcedBy("this", "boot")
			own.Session, own.Stream.Name = "aa", "test/color"
			silent := announcedBy("robot", "aaaaaaaa-0001")
			silent.Stream.Name, silent.Stream.Topic = "front/depth", ""
			s.announced = []negotiate.Announcement{own, announcedBy("robot", "aaaaaaaa-0001"), silent}
			document, err := json.Marshal(daemon.Status{Dir: "/run/camd", Streams: []daemon.StreamStatus{{
				StreamInfo: negotiate.StreamInfo{Name: "test/color"},
				Subscribers: []backend.Subscriber{
					{Backend: negotiate.BackendSHM, Wake: "futex", Client: "camsub hz", Command: "camsub", PID: 42, Rejected: noBetter[:1]},
					{Backend: negotiate.BackendCPU, Client: "viewer", Host: "laptop", Rejected: noBetter},
				},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			s.status = []json.RawMessage{document}
			code, stdout, stderr := s.run(t, args...)
			if code != 0 || stderr != "" {
				t.Errorf("exit %d, stderr %q", code, stderr)
			}
			golden(t, name, stdout)
		})
	}
}

// What is meant by a name where there are several hosts, and what there is where
// none is meant.
func TestNamesOfHosts(t *testing.T) {
	for name, tc := range map[string]struct {
		ask  string
		want string
	}{
		"two hosts":    {"front/color", "camsub: ambiguous stream: front/color is announced by 2 hosts, name one of: dog:front/color, robot:front/color\n"},
		"another host": {"cat:front/color", "camsub: unknown stream \"cat:front/color\", did you mean dog:front/color?\nknown are: dog:front/color, robot:front/color\n"},
		"another name": {"front/colour", "camsub: unknown stream \"front/colour\", did you mean dog:front/color?\nknown are: dog:front/color, robot:front/color\n"},
	} {
		s := newFake(t)
		s.listed, s.announced = nil, []negotiate.Announcement{announcedBy("robot", "aaaaaaaa-0001"), announcedBy("dog", "bbbbbbbb-0002")}
		code, _, stderr := s.run(t, "info", tc.ask)
		if code != ExitNotFound || stderr != tc.want {
			t.Errorf("%s: exit %d, %q", name, code, stderr)
		}
	}
	s := newFake(t)
	s.announced = []negotiate.Announcement{announcedBy("robot", "aaaaaaaa-0001")}
	if code, stdout, _ := s.run(t, "info", "robot:front/color"); code != 0 || !strings.HasPrefix(stdout, "stream:      front/color\n") {
		t.Errorf("exit %d, %q", code, stdout)
	}
	s.listed, s.announced = nil, []negotiate.Announcement{}
	code, _, stderr := s.run(t, "info", "front/color")
	if want := "camsub: no camd found in /run/camd; nor does anybody on the network announce a stream\n"; code != ExitNotFound || stderr != want {
		t.Errorf("exit %d, %q", code, stderr)
	}
}
