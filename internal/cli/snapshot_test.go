// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

func TestSnapshot(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		name, file string
		args       []string
		want       string // of the file; "" = it begins as a PNG
		said       string
	}{
		{"raw", "x.raw", nil, "aaaaaaaaaaaaaaa", "x.raw: frame 1 of test/color, 5x3 mono8, 15 bytes of raw\n"},
		{"ppm", "x.ppm", nil, "P5\n5 3\n255\naaaaaaaaaaaaaaa", "x.ppm: frame 1 of test/color, 5x3 mono8, 26 bytes of ppm\n"},
		{"kind that is not the name's", "x.png", []string{"--format", "raw"}, "aaaaaaaaaaaaaaa", "x.png: frame 1 of test/color, 5x3 mono8, 15 bytes of raw\n"},
		{"png", "y.png", nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := grey(t)
			code, stdout, stderr := s.run(t, append([]string{"snapshot", "test/color", "-o", c.file}, c.args...)...)
			if code != 0 || c.said != "" && stdout != c.said || s.taken != 1 {
				t.Fatalf("exit %d, %d frames, stdout %q, stderr %q", code, s.taken, stdout, stderr)
			}
			got, err := os.ReadFile(c.file)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if len(got) < 8 || string(got[:8]) != "\x89PNG\r\n\x1a\n" {
					t.Errorf("%q", got)
				}
			} else if string(got) != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// What a publisher kept for hours is not taken for what the camera sees now.
func TestSnapshotOfWhatWasKept(t *testing.T) {
	t.Chdir(t.TempDir())
	s := grey(t)
	change := s.change
	s.change = func(n int, f *fakeFrame) {
		change(n, f)
		f.meta.Flags, f.meta.PublishNanos = frame.Kept, f.held-2*3600e9
	}
	code, stdout, _ := s.run(t, "snapshot", "test/color", "-o", "x.raw")
	if want := "x.raw: frame 1 of test/color, 5x3 mono8, published 2h0m0s ago and kept for who comes late, 15 bytes of raw\n"; code != 0 || stdout != want {
		t.Errorf("exit %d, %q", code, stdout)
	}
}

// A picture has the colours that the source means.
func TestSnapshotOfColors(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		name  string
		color frame.Color
		want  string // red, green and blue of Y 81, Cb 90, Cr 240
	}{
		{"not said", frame.Color{}, "\xfe\x00\x00"},
		{"BT.601 limited", frame.Color{Matrix: frame.BT601, Range: frame.Limited}, "\xfe\x00\x00"},
		{"BT.601 full", frame.Color{Matrix: frame.BT601, Range: frame.Full}, "\xee\x0e\x0e"},
		{"BT.709 limited", frame.Color{Matrix: frame.BT709, Range: frame.Limited}, "\xff\x18\x00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFake(t)
			s.info.Geometry, s.info.Color = geometry(t, frame.YUV422YUY2, 2, 1), c.color
			s.change = func(_ int, f *fakeFrame) { f.data = []byte{81, 90, 81, 240} }
			if code, _, stderr := s.run(t, "snapshot", "test/color", "-o", "x.ppm"); code != 0 {
				t.Fatalf("exit %d, %s", code, stderr)
			}
			got, err := os.ReadFile("x.ppm")
			if want := "P6\n2 1\n255\n" + c.want + c.want; err != nil || string(got) != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	s := newFake(t)
	s.info.Geometry, s.info.Color.Matrix = geometry(t, frame.NV12, 2, 2), "ictcp"
	code, _, stderr := s.run(t, "snapshot", "test/color", "-o", "y.png")
	if code != ExitFailure {
		t.Errorf("colours that this camsub does not know: exit %d", code)
	}
	mustContain(t, "stderr", stderr, `matrix "ictcp"`)
}

func TestSnapshotToStdout(t *testing.T) {
	s := grey(t)
	code, stdout, stderr := s.run(t, "snapshot", "test/color", "-o", "-", "--format", "raw")
	if code != 0 || stdout != "aaaaaaaaaaaaaaa" {
		t.Errorf("exit %d, %q", code, stdout)
	}
	mustContain(t, "stderr", stderr, "-: frame 1 of test/color, 5x3 mono8, 15 bytes of raw\n")
	code, stdout, _ = grey(t).run(t, "snapshot", "test/color", "-o", "-")
	if code != 0 || !strings.HasPrefix(stdout, "\x89PNG\r\n\x1a\n") {
		t.Errorf("without --format: exit %d, %q", code, stdout)
	}
}

func TestSnapshotSaysWhen(t *testing.T) {
	t.Chdir(t.TempDir())
	s := grey(t)
	change := s.change
	s.change = func(n int, f *fakeFrame) {
		change(n, f)
		f.meta.WallNanos = 1_700_000_000_123_456_789
	}
	if _, stdout, _ := s.run(t, "snapshot", "test/color", "-o", "x.raw"); stdout != "x.raw: frame 1 of test/color, 5x3 mono8, captured 2023-11-14T22:13:20.123456Z, 15 bytes of raw\n" {
		t.Errorf("%q", stdout)
	}
}

func TestSnapshotFails(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no file", nil, ExitUsage, "where to? For example: camsub snapshot test/color -o x.png"},
		{"unknown kind", []string{"-o", "x.gif"}, ExitUsage, `-o x.gif: no such picture format: ".gif": known are .png, .ppm or .pgm, .raw and .jpg; or say --format`},
		{"unknown --format", []string{"-o", "x", "--format", "gif"}, ExitUsage, "must be one of png, ppm, raw, jpeg"},
		{"not compressed", []string{"-o", filepath.Join(dir, "x.jpg")}, ExitFailure, "frame 1 of test/color, 5x3 mono8, as jpeg: no such picture format: the stream is mono8"},
		{"folder that is not there", []string{"-o", filepath.Join(dir, "no", "x.png")}, ExitFailure, "no such file or directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := grey(t).run(t, append([]string{"snapshot", "test/color"}, c.args...)...)
			if code != c.code || stdout != "" {
				t.Errorf("exit %d, %q", code, stdout)
			}
			mustContain(t, "stderr", stderr, c.says)
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "x.jpg")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
	s := grey(t)
	change := s.change
	s.change = func(n int, f *fakeFrame) {
		change(n, f)
		f.valid = errBroken
	}
	if code, _, stderr := s.run(t, "snapshot", "test/color", "-o", filepath.Join(dir, "y.raw")); code != ExitFailure {
		t.Errorf("a frame that was overwritten: exit %d, %s", code, stderr)
	}
}

func TestEcho(t *testing.T) {
	s := newFake(t)
	s.change = func(n int, f *fakeFrame) {
		f.meta = frame.Meta{
			Sequence: uint64(n + 7), DriverSequence: uint64(n + 9), WallNanos: 1_700_000_000_000_000_005, CaptureNanos: 11, ReadyNanos: 12, PublishNanos: 13,
			Clock: frame.ClockMonotonic, Flags: frame.Discontinuity | frame.Pattern, Bytes: len(f.data),
		}
		f.held = 14
	}
	code, stdout, stderr := s.run(t, "echo", "test/color", "--once")
	if code != 0 || s.taken != 1 {
		t.Errorf("exit %d, %d frames, %q", code, s.taken, stderr)
	}
	golden(t, "echo.txt", stdout)

	s = newFake(t)
	g, err := frame.NewCompressed(frame.JPEG, 640, 480, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	s.change = func(_ int, f *fakeFrame) {
		f.geometry = g
		f.meta = frame.Meta{Sequence: 1, Bytes: 9999}
		f.data, f.held = make([]byte, 1<<20), 0
	}
	code, stdout, _ = s.run(t, "echo", "test/color", "--count", "2")
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	golden(t, "echo_compressed.txt", stdout)

	s = newFake(t)
	s.info.Stamp, s.info.FrameID = negotiate.StampPublish, "test_optical_frame"
	s.change = func(_ int, f *fakeFrame) {
		f.meta = frame.Meta{Sequence: 1, WallNanos: 1_700_000_000_000_000_005, CaptureNanos: 11, ReadyNanos: 12, PublishNanos: 1_000_000_013}
	}
	code, stdout, _ = s.run(t, "echo", "test/color", "--once")
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	mustContain(t, "of publishing", stdout, "header:\n  stamp:\n    sec: 1700000001\n    nanosec: 7\n  frame_id: test_optical_frame\n")

	if code, _, stderr := newFake(t).run(t, "echo", "test/color", "--once", "--count", "2"); code != ExitUsage {
		t.Errorf("--once and --count: exit %d, %s", code, stderr)
	}
}

func TestYAMLText(t *testing.T) {
	for in, want := range map[string]string{
		"":                   "''",
		"front_optical_link": "front_optical_link",
		"cam/left-1.a":       "cam/left-1.a",
		"7":                  "'7'",
		"-":                  "'-'",
		"No":                 "'No'",
		"a: b":               "'a: b'",
		"it's":               "'it''s'",
	} {
		if got := yamlText(in); got != want {
			t.Errorf("%q becomes %s, want %s", in, got, want)
		}
	}
}
