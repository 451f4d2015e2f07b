// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// The texts on stdout are parsed by scripts: they are golden.
func TestMeasuringCommandsText(t *testing.T) {
	for name, args := range map[string][]string{
		"hz":      {"hz", "test/color", "--duration", "2500ms"},
		"hz-w10":  {"hz", "test/color", "--count", "50", "--window", "10"},
		"bw":      {"bw", "test/color", "--duration", "2500ms"},
		"delay":   {"delay", "test/color", "--duration", "2.5"},
		"latency": {"latency", "test/color", "--count", "200"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := newFake(t).run(t, args...)
			if code != 0 || stderr != noteOfPath {
				t.Errorf("exit %d, stderr %q", code, stderr)
			}
			golden(t, name+".txt", stdout)
		})
	}
}

func TestLatencyManyFramesHaveP999(t *testing.T) {
	code, stdout, _ := newFake(t).run(t, "latency", "test/color", "--count", "10000", "--format", "csv", "--run-id", "r1")
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	golden(t, "latency.csv", stdout)
}

func TestDelayIdle(t *testing.T) {
	s := newFake(t)
	s.frames = 120
	code, stdout, _ := s.run(t, "delay", "test/color", "--duration", "3500ms")
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	golden(t, "delay-idle.txt", stdout)
}

func TestSummaries(t *testing.T) {
	for _, command := range []string{"hz", "bw", "delay", "latency"} {
		t.Run(command, func(t *testing.T) {
			s := newFake(t)
			s.missed = 7
			args := []string{command, "test/color", "--count", "150", "--verify", "--format"}
			code, stdout, stderr := s.run(t, append(args, "json")...)
			if code != 0 {
				t.Errorf("exit %d, stderr %q", code, stderr)
			}
			mustContain(t, "stderr", stderr, "camsub: verified 150 frames: 0 torn, 0 stale, 7 gaps\n")
			golden(t, command+".json", maskRunID(stdout))
			decoder := json.NewDecoder(strings.NewReader(stdout))
			var head measurement
			if err := decoder.Decode(&head); err != nil {
				t.Fatal(err)
			}
			if decoder.More() {
				t.Error("more than one summary")
			}
			if head.Command != command || head.Frames != 150 || head.Missed != 7 || head.Verify == nil || head.Verify.Frames != 150 {
				t.Errorf("got %+v", head)
			}

			code, stdout, _ = newFake(t).run(t, append(args, "csv")...)
			rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
			if code != 0 || err != nil {
				t.Fatalf("exit %d, %v", code, err)
			}
			want := 2
			if command == "latency" {
				want = 5
			} else {
				golden(t, command+".csv", stdout)
			}
			if len(rows) != want {
				t.Errorf("%d rows, want %d: %q", len(rows), want, rows)
			}
		})
	}
}

// maskRunID replaces the time that is the default run id.
func maskRunID(text string) string {
	before, rest, ok := strings.Cut(text, `"run_id": "`)
	if !ok {
		return text
	}
	_, after, _ := strings.Cut(rest, `"`)
	return before + `"run_id": "X"` + after
}

// fromBefore makes the first three frames lie there before the subscription.
func fromBefore(t *testing.T) *fakeStream {
	s := newFake(t)
	s.change = func(n int, f *fakeFrame) {
		if n < 3 {
			f.meta.ReadyNanos = s.start.UnixNano() - 1
			f.meta.CaptureNanos = f.meta.ReadyNanos - int64(time.Hour)
			f.meta.Bytes = 7
		}
	}
	return s
}

func TestLatencySkipsFramesFromBefore(t *testing.T) {
	code, stdout, _ := fromBefore(t).run(t, "latency", "test/color", "--count", "10", "--format", "json")
	var r latencyResult
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 {
		t.Fatalf("exit %d, %v", code, err)
	}
	if r.Skipped != 3 || r.Frames != 10 || r.Metrics["ready_to_held"].Count != 10 || r.Metrics["period"].Count != 9 {
		t.Errorf("got %+v", r)
	}
}

// What a frame that lay there before would add: its age, its size, and an
// interval.
func TestMeasuresSkipFramesFromBefore(t *testing.T) {
	for command, want := range map[string]string{
		"hz": `"frames": 10,
  "missed": 0,
  "reconnects": 0,
  "rate_hz": 100,
  "interval_s": {
    "count": 9,`,
		"delay": `"delay_s": {
    "count": 10,
    "min": 0.005`,
		"bw": `"size_bytes": {
    "count": 10,
    "min": 12288,`,
	} {
		t.Run(command, func(t *testing.T) {
			s := fromBefore(t)
			code, stdout, stderr := s.run(t, command, "test/color", "--count", "10", "--format", "json", "--verify")
			if code != 0 || s.taken != 13 {
				t.Errorf("exit %d, %d frames taken, stderr %q", code, s.taken, stderr)
			}
			mustContain(t, "stderr", stderr, "verified 13 frames")
			mustContain(t, "stdout", without(stdout, `"verify"`), want)
		})
	}
	code, stdout, _ := fromBefore(t).run(t, "hz", "test/color", "--count", "10")
	if want := "average rate: 100.000\n\tmin: 0.010s max: 0.010s std dev: 0.00000s window: 9\n"; code != 0 || stdout != want {
		t.Errorf("exit %d, got %q", code, stdout)
	}
}

// without cuts an object out of JSON, which ends with the next brace.
func without(text, key string) string {
	before, rest, ok := strings.Cut(text, "  "+key)
	if !ok {
		return text
	}
	_, after, _ := strings.Cut(rest, "},\n")
	return before + after
}

func TestLatencyUnknownStampsAreLeftOut(t *testing.T) {
	s := newFake(t)
	s.change = func(_ int, f *fakeFrame) { f.meta.CaptureNanos, f.meta.PublishNanos = 0, 0 }
	_, stdout, _ := s.run(t, "latency", "test/color", "--count", "10", "--format", "json")
	var r latencyResult
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if r.Metrics["capture_to_held"].Count != 0 || r.Metrics["publish_to_held"].Count != 0 || r.Metrics["ready_to_held"].Count != 10 {
		t.Errorf("got %+v", r.Metrics)
	}
}

func TestDelayByWallClock(t *testing.T) {
	s := newFake(t)
	s.change = func(_ int, f *fakeFrame) {
		f.meta.CaptureNanos, f.meta.WallNanos = 0, now()-int64(7*time.Millisecond)
	}
	code, stdout, _ := s.run(t, "delay", "test/color", "--count", "10")
	if want := "average delay: 0.007\n\tmin: 0.007s max: 0.007s std dev: 0.00000s window: 9\n"; code != 0 || stdout != want {
		t.Errorf("exit %d, got %q", code, stdout)
	}
}

func TestDelayWithoutStamp(t *testing.T) {
	s := newFake(t)
	s.change = func(_ int, f *fakeFrame) { f.meta.CaptureNanos = 0 }
	code, stdout, stderr := s.run(t, "delay", "test/color", "--count", "10")
	if code != ExitFailure || stdout != "" {
		t.Errorf("exit %d, stdout %q", code, stdout)
	}
	mustContain(t, "stderr", stderr, "frames carry no capture time")
}

func TestEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		set    func(*fakeStream)
		args   []string
		code   int
		stderr []string
		frames int
	}{
		"count":             {nil, []string{"--count", "5"}, 0, nil, 5},
		"duration":          {nil, []string{"--duration", "100ms"}, 0, nil, 9},
		"count before time": {nil, []string{"--count", "5", "--duration", "1h"}, 0, nil, 5},
		"time before count": {nil, []string{"--count", "50000", "--duration", "1"}, 0, nil, 99},
		"timeout at once": {
			func(s *fakeStream) { s.interval = time.Hour },
			[]string{"--timeout", "1500ms"},
			ExitTimeout,
			[]string{"camsub: timeout: no frame of test/color for 1.5s\n"},
			0,
		},
		"timeout later": {
			func(s *fakeStream) { s.frames = 30 },
			[]string{"--timeout", "2s"},
			ExitTimeout,
			[]string{"no frame of test/color for 2s"},
			30,
		},
		"no timeout while frames come": {
			func(s *fakeStream) { s.interval = 900 * time.Millisecond },
			[]string{"--timeout", "1s", "--count", "8"},
			0, nil, 8,
		},
		"no timeout while a frame is held": {nil, []string{"--timeout", "1s", "--hold", "3s", "--count", "3"}, 0, nil, 3},
		"stream ends": {
			func(s *fakeStream) { s.frames, s.failWith = 3, client.ErrClosed },
			nil, ExitNotFound,
			[]string{"camsub: subscription closed\n"},
			3,
		},
		"broken": {func(s *fakeStream) { s.frames, s.failWith = 3, errBroken }, nil, ExitFailure, []string{"camsub: broken\n"}, 3},
		"silent": {
			func(s *fakeStream) { s.frames, s.info.State = 2, "running" },
			[]string{"--duration", "12s"},
			0,
			[]string{"camsub: test/color: no frame for 5s, camera test is running\n"},
			2,
		},
		"silent and alone": {
			func(s *fakeStream) { s.frames, s.listed = 2, nil },
			[]string{"--duration", "12s"},
			0,
			[]string{"camsub: test/color: no frame for 5s, and its camd does not say why\n"},
			2,
		},
		"rate limit":   {nil, []string{"--rate-limit", "10", "--duration", "1s"}, 0, nil, 10},
		"hold":         {nil, []string{"--hold", "200ms", "--duration", "1s"}, 0, nil, 5},
		"hold forever": {nil, []string{"--hold", "forever", "--duration", "1s"}, 0, []string{"holding 2 frames until the end"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFake(t)
			if tc.set != nil {
				tc.set(s)
			}
			code, _, stderr := s.run(t, append([]string{"hz", "test/color"}, tc.args...)...)
			if code != tc.code || s.taken != tc.frames {
				t.Errorf("exit %d, %d frames; want %d, %d; stderr %q", code, s.taken, tc.code, tc.frames, stderr)
			}
			mustContain(t, "stderr", stderr, tc.stderr...)
			if want := 1 + len(tc.stderr); strings.Count(stderr, "\n") != want {
				t.Errorf("stderr has not %d lines: %q", want, stderr)
			}
		})
	}
}

func TestSignalEndsQuietlyWithSummary(t *testing.T) {
	s := newFake(t)
	code, stdout, stderr := s.runContext(t, func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(505*time.Millisecond, cancel)
		return ctx, cancel
	}, "hz", "test/color", "--format", "json")
	var r hzResult
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if code != 0 || stderr != noteOfPath || r.Frames != 50 {
		t.Errorf("exit %d, stderr %q, %+v", code, stderr, r)
	}
}

func TestSummaryAlsoAfterTimeout(t *testing.T) {
	s := newFake(t)
	s.frames = 20
	code, stdout, _ := s.run(t, "hz", "test/color", "--format", "json", "--timeout", "1s")
	var r hzResult
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != ExitTimeout || r.Frames != 20 {
		t.Errorf("exit %d, %v, %+v", code, err, r)
	}
}

func TestStateIsSaidOncePerChange(t *testing.T) {
	s := newFake(t)
	s.frames = 1
	states := []string{"running", "running", "lost", "lost", "lost", "running"}
	w := s.world()
	asked := 0
	w.list = func(context.Context, ...client.Option) ([]client.Daemon, error) {
		info := s.info
		info.State = states[min(asked, len(states)-1)]
		asked++
		return []client.Daemon{{StreamList: negotiate.StreamList{Streams: []negotiate.StreamInfo{info}}}}, nil
	}
	_, _, stderr := runWorld(t, w, "hz", "test/color", "--duration", "20s")
	want := noteOfPath +
		"camsub: test/color: no frame for 5s, camera test is running\n" +
		"camsub: test/color: no frame for 5s, camera test is lost\n" +
		"camsub: test/color: no frame for 5s, camera test is running\n"
	if stderr != want {
		t.Errorf("got %q, want %q", stderr, want)
	}
}

func TestWaitingIsSaidBeforeTheFirstFrame(t *testing.T) {
	s := newFake(t)
	good, path := s.info, s.path
	s.info = negotiate.StreamInfo{Name: "test/color", Camera: "test", State: "lost", Problem: "device not found"}
	s.path = client.Path{}
	s.frames = 3
	s.change = func(_ int, f *fakeFrame) { s.info, s.path = good, path }
	s.info.Geometry.Encoding = "bgra8"
	_, _, stderr := s.run(t, "hz", "test/color", "--count", "3")
	if want := "camsub: test/color: waiting for the first frame, camera test is lost: device not found\n" + noteOfPath; stderr != want {
		t.Errorf("got %q, want %q", stderr, want)
	}
}

// What was not measured has no value, which is not 0.
func TestNoValues(t *testing.T) {
	for command, want := range map[string]string{
		"hz":      "test/color,shm,0.011000000,1,0,0,0,0,0,,,,,,0.0",
		"latency": "r,steady,period,ns,0,,,,,,,,,0\n",
	} {
		args := []string{command, "test/color", "--count", "1", "--format", "csv"}
		if command == "latency" {
			args = append(args, "--run-id", "r")
		}
		code, stdout, _ := newFake(t).run(t, args...)
		if code != 0 {
			t.Errorf("exit %d", code)
		}
		mustContain(t, command, stdout, want)
	}
	_, stdout, _ := newFake(t).run(t, "latency", "test/color", "--count", "1")
	mustContain(t, "table", stdout, "period      0       -       -       -       -       -       -      -       -\n")
}
