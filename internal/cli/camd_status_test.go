// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/backend/cpu"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/negotiate"
)

func TestStatusText(t *testing.T) {
	now := time.Unix(1000, 0)
	stream := daemon.StreamStatus{StreamInfo: negotiate.StreamInfo{Name: "front/color"}}
	stream.Published, stream.Decimated = 120, 240
	stream.Topics = []cpu.TopicStatus{{Topic: "/front/color/image_raw", Encoding: "rgb8", Matched: true, Frames: 30, Bytes: 186_600_000, Conversions: 31}}
	stream.Subscribers = []backend.Subscriber{
		{Stream: "front/color", Backend: negotiate.BackendSHM, Wake: "futex", PID: 7, Command: "good", Credit: 2},
		{Stream: "front/color", PID: 8, Command: "hoarder", Hoarding: true, Held: 1, OldestMS: 12340, Credit: 2},
		{Stream: "front/color", PID: 9, Command: "evil\x1b[2J\n", Evicted: "held a frame"},
		{Stream: "front/color", Backend: negotiate.BackendCPU, Client: "camsub", Host: "laptop", Rejected: []negotiate.Rejected{
			{Backend: negotiate.BackendCUDA, Reason: negotiate.ReasonNotAccepted}, {Backend: negotiate.BackendSHM, Reason: negotiate.ReasonDifferentHost},
		}},
	}
	stream.Withheld = []string{"announce", "answer"}
	st := &daemon.Status{
		Version: "1.0", PID: 5, Started: now.Add(-time.Minute), Truncated: true,
		Cameras: []daemon.CameraStatus{{Name: "front", Source: "replay a\tb", Problem: "child said:\n\x1b]0;owned\x07", Since: now}},
		Streams: []daemon.StreamStatus{stream},
		Refused: map[negotiate.Reason]uint64{negotiate.ReasonRingFull: 3},
		Zenoh:   &daemon.ZenohStatus{State: "connecting", As: "client", Endpoints: []string{"tcp/a:7447", "tcp/b:7447"}, Problem: "no router\nanswers"},
	}
	var out strings.Builder
	if err := writeStatus(&out, st, now); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"up 1m0s", "  120 (240 decimated)  0  ", "HELD    RELEASED  OVERWRITTEN  SKIPPED", "HOLDS 1 frame for 12.3s", "hoarder[8]", "evicted: held a frame", "refused: ring_full 3 times", "left out", "connecting  client  tcp/a:7447, tcp/b:7447", "  shm: different_host", "camsub@laptop  front/color  cpu ", "zenoh.access of front/color: no announce, no answer", "no router answers", "/front/color/image_raw  front/color  rgb8      yes         30    186.6 MB"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, r := range text {
		if r < ' ' && r != '\n' || r == 0x7f {
			t.Fatalf("control character %q in\n%s", r, text)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "front ") && !strings.Contains(line, "child said:") && !strings.Contains(line, "front/color") {
			t.Errorf("a camera takes more than one line:\n%s", text)
		}
	}
}

func TestStatusTextOfZenoh(t *testing.T) {
	in := daemon.ZenohLink{Remote: "abc", Role: "peer", Endpoint: "tcp/[::]:40000", Incoming: true}
	out := daemon.ZenohLink{Remote: "def", Role: "peer", Endpoint: "tcp/192.0.2.1:7447"}
	for _, c := range []struct {
		z    daemon.ZenohStatus
		want string
	}{
		{daemon.ZenohStatus{State: "failed", Problem: "no file"}, "failed - - - - 0 0 no file"},
		{daemon.ZenohStatus{State: "alone", As: "peer", Endpoints: []string{"tcp/localhost:7447"}, Listening: []string{"tcp/192.0.2.9:4"}}, "alone peer - tcp/192.0.2.9:4 - 0 0 -"},
		{
			daemon.ZenohStatus{State: "connected", As: "client", Role: "router", Connections: 1, Links: []daemon.ZenohLink{{Endpoint: "tcp/localhost:7447"}}},
			"connected client of router tcp/localhost:7447 - - 0 0 -",
		},
		{
			daemon.ZenohStatus{State: "connected", As: "peer", Role: "peer", Connections: 5, Links: []daemon.ZenohLink{in, out, out, out, out}, Listening: []string{"tcp/a:1"}},
			"connected peer with 5 links from abc, tcp/192.0.2.1:7447, tcp/192.0.2.1:7447, and 2 more tcp/a:1 - 0 0 -",
		},
	} {
		var text strings.Builder
		if err := writeStatus(&text, &daemon.Status{Zenoh: &c.z}, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(text.String()), " "); !strings.HasSuffix(got, " PROBLEM "+c.want) {
			t.Errorf("%s\nwant %s", text.String(), c.want)
		}
	}
}
