// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/seed-3c7e7623/camd/frame"
)

// grey is a stream of 5x3 mono8 with two bytes of padding in every row.
func grey(t *testing.T) *fakeStream {
	s := newFake(t)
	g, err := frame.NewGeometryStep(frame.Mono8, 5, 3, 7)
	if err != nil {
		t.Fatal(err)
	}
	s.info.Geometry = g
	s.change = func(n int, f *fakeFrame) {
		for i := range f.data {
			f.data[i] = byte('a' + n)
			if i%7 >= 5 {
				f.data[i] = '#'
			}
		}
	}
	return s
}

func TestCat(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"y4m": {nil, "YUV4MPEG2 W5 H3 F100:1 Ip A1:1 Cmono XCOLORRANGE=FULL\nFRAME\naaaaaaaaaaaaaaaFRAME\nbbbbbbbbbbbbbbb"},
		"raw": {[]string{"--format", "raw"}, "aaaaaaaaaaaaaaabbbbbbbbbbbbbbb"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := grey(t).run(t, append([]string{"cat", "test/color", "--count", "2"}, tc.args...)...)
			if code != 0 || stdout != tc.want {
				t.Errorf("exit %d, stderr %q, got %q", code, stderr, stdout)
			}
			file := filepath.Join(t.TempDir(), "out")
			code, stdout, stderr = grey(t).run(t, append([]string{"cat", "test/color", "--count", "2", "-o", file}, tc.args...)...)
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if code != 0 || stdout != "" || string(got) != tc.want {
				t.Errorf("to a file: exit %d, stderr %q, stdout %q, got %q", code, stderr, stdout, got)
			}
		})
	}
}

// The end of a recording is the end of its video, but of no measurement.
func TestCatEndsWithTheCamera(t *testing.T) {
	ended := func() *fakeStream {
		s := newFake(t)
		s.frames, s.missed = 3, 2
		s.listed[0].Streams[0].State = "ended"
		return s
	}
	note := "camsub: test/color: no frame for 5s, camera test is ended\n"
	code, stdout, stderr := ended().run(t, "cat", "test/color", "--format", "raw")
	if code != 0 || len(stdout) != 3*64*48*4 {
		t.Errorf("exit %d, %d bytes", code, len(stdout))
	}
	if want := noteOfPath + note + "camsub: test/color: 3 frames, 2 missed\n"; stderr != want {
		t.Errorf("got %q, want %q", stderr, want)
	}
	code, _, stderr = ended().run(t, "hz", "test/color", "--timeout", "20s")
	if code != ExitTimeout || strings.Count(stderr, note) != 1 {
		t.Errorf("hz: exit %d, stderr %q", code, stderr)
	}
}

// Compressed frames are written one after the other, of whatever length and
// size; as y4m they cannot be.
func TestCatCompressed(t *testing.T) {
	packed := func() *fakeStream {
		s := newFake(t)
		s.change = func(n int, f *fakeFrame) {
			var err error
			if f.geometry, err = frame.NewCompressed(frame.JPEG, 64+n, 48, 1000*(n+1)); err != nil {
				t.Fatal(err)
			}
			f.data = bytes.Repeat([]byte{byte('a' + n)}, n+1)
			f.meta.Bytes = len(f.data)
		}
		return s
	}
	code, stdout, stderr := packed().run(t, "cat", "test/color", "--format", "raw", "--count", "3", "--verify")
	if code != 0 || stdout != "abbccc" {
		t.Errorf("exit %d, stderr %q, got %q", code, stderr, stdout)
	}
	code, stdout, stderr = packed().run(t, "cat", "test/color", "--count", "3")
	if code == 0 || stdout != "" {
		t.Errorf("exit %d, got %q", code, stdout)
	}
	mustContain(t, "stderr", stderr, "no place for jpeg", "--format raw")
}

func TestCatFormatChange(t *testing.T) {
	for _, format := range []string{"y4m", "raw"} {
		s := newFake(t)
		s.change = func(n int, f *fakeFrame) {
			if n == 2 {
				f.geometry = geometry(t, frame.BGRA8, 32, 24)
			}
		}
		code, stdout, stderr := s.run(t, "cat", "test/color", "--format", format)
		if code != ExitFailure || stdout == "" {
			t.Errorf("%s: exit %d, %d bytes", format, code, len(stdout))
		}
		mustContain(t, "stderr", stderr, "camsub: the stream changed its format from 64x48 bgra8 (step 256) to 32x24 bgra8 (step 128)")
	}
}

func TestCatMakesNoFileForNothing(t *testing.T) {
	s := newFake(t)
	s.refused = errBroken
	file := filepath.Join(t.TempDir(), "out")
	if code, _, _ := s.run(t, "cat", "test/color", "-o", file); code != ExitFailure {
		t.Errorf("exit %d", code)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
}

func TestCatFileCannotBeMade(t *testing.T) {
	code, _, stderr := newFake(t).run(t, "cat", "test/color", "-o", filepath.Join(t.TempDir(), "no", "out"))
	if code != ExitFailure {
		t.Errorf("exit %d", code)
	}
	mustContain(t, "stderr", stderr, "no such file or directory")
}

func TestCatDoesNotAllocatePerFrame(t *testing.T) {
	s := grey(t)
	f := &fakeFrame{stream: s, geometry: s.info.Geometry, data: make([]byte, s.info.Geometry.Size())}
	c := catMeter{raw: true, open: (&output{name: "-", stdout: discard{}}).open, info: s.Info}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := c.frame(f); err != nil {
			t.Fatal(err)
		}
		if _, err := c.idle(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per frame", n)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// closedAfter is a pipe whose reader goes away after n bytes.
type closedAfter struct{ n int }

func (c *closedAfter) Write(p []byte) (int, error) {
	if c.n -= len(p); c.n < 0 {
		return 0, &os.PathError{Op: "write", Path: "stdout", Err: syscall.EPIPE}
	}
	return len(p), nil
}

func TestReaderOfStdoutGoesAway(t *testing.T) {
	for name, tc := range map[string]struct {
		command string
		bytes   int // that still pass
	}{
		"video": {"cat", 40_000}, "rate": {"hz", 100}, "bandwidth": {"bw", 100}, "first line": {"bw", 0}, "delay": {"delay", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFake(t)
			var stderr bytes.Buffer
			code := -1
			synctest.Test(t, func(*testing.T) {
				code = Execute(context.Background(), newCamsub(s.world()), []string{tc.command, "test/color"}, &closedAfter{tc.bytes}, &stderr)
			})
			if code != 0 || stderr.String() != noteOfPath {
				t.Errorf("exit %d, stderr %q", code, stderr.String())
			}
		})
	}
}

func TestOtherWriteErrorsAreFailures(t *testing.T) {
	s := newFake(t)
	var stderr bytes.Buffer
	code := -1
	synctest.Test(t, func(*testing.T) {
		code = Execute(context.Background(), newCamsub(s.world()), []string{"hz", "test/color"}, fullDisk{}, &stderr)
	})
	if code != ExitFailure {
		t.Errorf("exit %d", code)
	}
	mustContain(t, "stderr", stderr.String(), fmt.Sprintf("camsub: write to stdout: %v\n", syscall.ENOSPC))
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
