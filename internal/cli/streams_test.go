// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
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
		if code != ExitNotFound || stdout != "" || stderr != "camsub: no camd found in /run/camd\n" {
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

// Users of ROS write the slash of a topic.
func TestSlashBeforeAStream(t *testing.T) {
	for _, args := range [][]string{
		{"info"}, {"hz", "--count", "10"}, {"bw", "--count", "10"}, {"echo", "--once"}, {"cat", "--count", "1", "--format", "raw"},
	} {
		plain, slashed := append(args, "test/color"), append(args, "/test/color")
		_, want, _ := newFake(t).run(t, plain...)
		code, stdout, stderr := newFake(t).run(t, slashed...)
		if code != 0 || stdout != want && args[0] != "echo" || stdout == "" || strings.Contains(stderr+stdout, "//") {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", slashed, code, stdout, stderr)
		}
	}
	code, _, stderr := newFake(t).run(t, "info", "/clip/colr")
	if want := "camsub: unknown stream \"/clip/colr\", did you mean clip/color?\nknown are: clip/color, test/color\n"; code != ExitNotFound || stderr != want {
		t.Errorf("exit %d, got %q", code, stderr)
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
