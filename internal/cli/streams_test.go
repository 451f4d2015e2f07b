// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

func TestStreamsGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"list.txt":   {"list"},
		"list.json":  {"list", "--format", "json"},
		"list.csv":   {"list", "--format", "csv"},
		"info.txt":   {"info", "test/color"},
		"info-2.txt": {"info", "clip/color"},
		"info.json":  {"info", "test/color", "--format", "json"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := newFake(t).run(t, args...)
			if code != 0 || stderr != "" {
				t.Errorf("exit %d, stderr %q", code, stderr)
			}
			golden(t, name, stdout)
			if strings.HasSuffix(name, ".json") && !json.Valid([]byte(stdout)) {
				t.Error("not JSON")
			}
		})
	}
}

func TestListWithoutStreams(t *testing.T) {
	s := newFake(t)
	s.listed = []client.Daemon{{Dir: "/run/camd"}}
	if code, stdout, _ := s.run(t, "list", "--format", "json"); code != 0 || stdout != "{\n  \"streams\": []\n}\n" {
		t.Errorf("exit %d, got %q", code, stdout)
	}
	code, _, stderr := s.run(t, "info", "test/color")
	if want := "camsub: unknown stream \"test/color\": camd runs, but has no streams\n"; code != ExitNotFound || stderr != want {
		t.Errorf("exit %d, got %q", code, stderr)
	}
}

func TestNothingRuns(t *testing.T) {
	for _, args := range [][]string{{"list"}, {"info", "test/color"}} {
		s := newFake(t)
		s.listed = nil
		code, stdout, stderr := s.run(t, args...)
		if code != ExitNotFound || stdout != "" || stderr != "camsub: no camd found in /run/camd; no Zenoh router found at tcp/localhost:7447\n" {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}

func TestInfoUnknown(t *testing.T) {
	code, _, stderr := newFake(t).run(t, "info", "clip/colr")
	if want := "camsub: unknown stream \"clip/colr\", did you mean clip/color?\nknown are: clip/color, test/color\n"; code != ExitNotFound || stderr != want {
		t.Errorf("exit %d, got %q", code, stderr)
	}
}

// A slash in front makes it a topic, also where a stream has that name.
func TestSlashBeforeAStream(t *testing.T) {
	s := newFake(t)
	s.refused = fmt.Errorf("%w at tcp/localhost:7447", client.ErrNoRouter)
	want := "camsub: no Zenoh router found at tcp/localhost:7447; a name with a slash in front is a ROS 2 topic, the stream of camd is called test/color\n"
	for _, command := range []string{"hz", "info"} {
		if code, _, stderr := s.run(t, command, "/test/color"); code != ExitNotFound || stderr != want {
			t.Errorf("%s: exit %d, got %q", command, code, stderr)
		}
	}
	s.topics = []client.Topic{cameraTopic}
	want = "camsub: unknown stream \"/test/color\", did you mean the stream test/color of camd?\nknown image topics are: /front/image_raw\n"
	if code, _, stderr := s.run(t, "info", "/test/color"); code != ExitNotFound || stderr != want {
		t.Errorf("exit %d, got %q", code, stderr)
	}
	want = "camsub: unknown stream \"/front/image_rw\", did you mean /front/image_raw?\nknown image topics are: /front/image_raw\n"
	if code, _, stderr := s.run(t, "info", "/front/image_rw"); code != ExitNotFound || stderr != want {
		t.Errorf("exit %d, got %q", code, stderr)
	}
}

var cameraTopic = client.Topic{
	Domain: 7, Name: "/front/image_raw", Type: "sensor_msgs/msg/Image",
	Publishers: []client.Endpoint{{
		Node: "/front/driver", GID: "1aa452df55307fa359ef8ce469b4a1ee", Hash: "RIHS01_d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47",
		QoS: "best effort, volatile, keep last 5", Session: "1234567890abcdef1234567890abcdef",
	}},
	Subscribers: []client.Endpoint{{
		Node: "/viewer", GID: "2d065eea5ec10a10e6de5f79268833e8", Hash: "RIHS01_d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47",
		QoS: "best effort, volatile, keep last 5", Backends: "cpu:", Session: "8b20917502ee955ac4476e0266340d5c",
	}},
}

func TestTopicsGolden(t *testing.T) {
	alone := client.Topic{Domain: 0, Name: "/only/wanted", Type: "sensor_msgs/msg/Image", Subscribers: cameraTopic.Subscribers}
	for name, args := range map[string][]string{
		"topics.txt":      {"list"},
		"topics.json":     {"list", "--format", "json"},
		"topics.csv":      {"list", "--format", "csv"},
		"topic-info.txt":  {"info", "/front/image_raw"},
		"topic-info.json": {"info", "/front/image_raw", "--format", "json"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFake(t)
			s.topics = []client.Topic{cameraTopic, alone}
			code, stdout, stderr := s.run(t, args...)
			if code != 0 || stderr != "" {
				t.Errorf("exit %d, stderr %q", code, stderr)
			}
			golden(t, name, stdout)
		})
	}
	s := newFake(t)
	s.topics, s.listed = []client.Topic{cameraTopic}, nil
	code, stdout, stderr := s.run(t, "list", "-v")
	if code != 0 || !strings.HasPrefix(stdout, "TOPIC ") || stderr != "camsub: no camd found in /run/camd\n" {
		t.Errorf("topics only: exit %d, %q, stderr %q", code, stdout, stderr)
	}
	if code, _, stderr := newFake(t).run(t, "list", "-v"); code != 0 || stderr != "camsub: no Zenoh router found at tcp/localhost:7447\n" {
		t.Errorf("streams only: exit %d, stderr %q", code, stderr)
	}
}

// What hz, bw and delay print of a topic is what the tools of ROS print.
func TestTopicMeasured(t *testing.T) {
	topic := func() *fakeStream {
		s := newFake(t)
		s.path = client.Path{Backend: negotiate.BackendCPU, Topic: "/front/image_raw", Domain: 7, Credit: 2}
		s.info = negotiate.StreamInfo{Name: "/front/image_raw", Camera: "/front/driver", Topic: "/front/image_raw", Geometry: s.info.Geometry}
		s.overhead = 60
		s.change = func(_ int, f *fakeFrame) { f.meta.ReadyNanos = 0 }
		return s
	}
	code, stdout, stderr := topic().run(t, "bw", "/front/image_raw", "--count", "150")
	if code != 0 || !strings.HasPrefix(stdout, "Subscribed to [/front/image_raw]\n") {
		t.Errorf("exit %d, %q", code, stdout)
	}
	_, document, _ := topic().run(t, "bw", "/front/image_raw", "--count", "100", "--format", "json")
	mustContain(t, "bw", document, `"bytes": 1234800,`) // 100 messages of 64*48*4 and 60 more
	if want := "camsub: /front/image_raw by cpu (Zenoh, domain 7), 64x48 bgra8\n"; stderr != want {
		t.Errorf("got %q", stderr)
	}
	code, stdout, _ = topic().run(t, "latency", "/front/image_raw", "--count", "20")
	mustContain(t, "latency", stdout, "latency of /front/image_raw by cpu (Zenoh, domain 7), 20 frames")
	if code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestPlaceFlags(t *testing.T) {
	for _, args := range [][]string{{"--domain", "-1"}, {"--domain", "x"}, {"--zenoh-config", "/does/not/exist.json5"}} {
		code, _, stderr := newFake(t).run(t, append([]string{"list"}, args...)...)
		if code == 0 || !strings.Contains(stderr, args[0]) {
			t.Errorf("%v: exit %d, %q", args, code, stderr)
		}
	}
}

func TestRateText(t *testing.T) {
	for want, interval := range map[string]int64{"": 0, "60": 16_666_667, "29.97": 33_366_667, "100": 10_000_000, "0.5": 2_000_000_000} {
		var s foundStream
		s.IntervalNS = interval
		if got := s.rateText(); got != want {
			t.Errorf("%d ns: got %q, want %q", interval, got, want)
		}
	}
}

func TestInfoOfConfiguredStream(t *testing.T) {
	s := newFake(t)
	i := &s.listed[0].Streams[0]
	i.Geometry, i.Color = geometry(t, frame.NV12, 64, 48), frame.Color{Range: frame.Full}
	i.Stamp, i.FrameID = negotiate.StampPublish, "lens"
	code, stdout, stderr := s.run(t, "info", "test/color")
	if code != 0 {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	mustContain(t, "info", stdout, "encoding:    nv12\ncolor:       matrix unknown full\n", "stamp:       publish\nframe_id:    lens\n")
}

// What anybody may declare does not fill a line, a table or an error.
func TestManyNamesAreBounded(t *testing.T) {
	topic := client.Topic{Name: "/a", Type: "sensor_msgs/msg/Image"}
	for i := range 2000 {
		topic.Publishers = append(topic.Publishers, client.Endpoint{Node: fmt.Sprintf("/n%04d", i)})
	}
	if got, want := nodes(topic), "/n0000 /n0001 /n0002 /n0003 and 1996 more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	text := topicText(topic)
	if got := strings.Count(text, "\n"); got > 7*maxEnds || !strings.HasSuffix(text, "and 1968 publishers more; --format json lists all") {
		t.Errorf("%d lines, end %q", got, text[max(0, len(text)-80):])
	}
	table := listTables(nil, slices.Repeat([]client.Topic{topic}, maxRows+1))
	if !strings.HasSuffix(table, "\nand 1 topic more; --format csv and json list all") {
		t.Errorf("end %q", table[max(0, len(table)-80):])
	}
	if err := unknownTopic("/x", "", slices.Repeat([]string{"/topic"}, maxListed+5), nil); !strings.HasSuffix(err.Error(), ", and 5 more") {
		t.Errorf("got %q", err)
	}
}
