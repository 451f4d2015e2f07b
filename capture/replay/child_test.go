// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/frame"
)

func TestTheChildIsKilled(t *testing.T) {
	needFFmpeg(t)
	frames := 0
	_, err := play(t, "c=replay:testsrc2=s=64x48:r=500,input.f=lavfi,pace=fast", func(capturetest.Frame) bool {
		if frames++; frames == 3 {
			for _, pid := range children(t, os.Getpid()) {
				if err := unix.Kill(pid, unix.SIGKILL); err != nil {
					t.Error(err)
				}
			}
		}
		return true
	})
	if !errors.Is(err, capture.ErrDeviceGone) || !strings.Contains(err.Error(), "killed by signal 9") {
		t.Fatalf("%v; want that ffmpeg was killed", err)
	}
}

func children(t *testing.T, pid int) []int {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		for _, word := range bytes.Fields(data) {
			var n int
			if _, err := fmt.Sscan(string(word), &n); err != nil {
				t.Fatal(err)
			}
			pids = append(pids, n)
		}
	}
	return pids
}

func TestNoFFmpeg(t *testing.T) {
	path := write(t, "some.avi", []byte("x"))
	t.Setenv("PATH", t.TempDir())
	_, err := play(t, esc(path), nil)
	if !errors.Is(err, ErrNoFFmpeg) || !errors.Is(err, capture.ErrUnsupported) || err.Error() != "ffmpeg not found: install it, for example: apt-get install ffmpeg" {
		t.Fatal(err)
	}
}

func fake(t *testing.T, ffprobe, ffmpeg string) {
	t.Helper()
	dir := t.TempDir()
	for name, body := range map[string]string{"ffprobe": ffprobe, "ffmpeg": ffmpeg} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

const probed = `echo '{"streams":[{"width":4,"height":2,"avg_frame_rate":"30/1","r_frame_rate":"30/1"}]}'`

func TestWhatTheChildDoes(t *testing.T) {
	path := write(t, "some.avi", []byte("x"))
	for _, c := range []struct {
		name, spec, ffprobe, ffmpeg string
		frames                      int
		want                        error
		text                        string
	}{
		{"part of a frame", esc(path), probed, "printf '%032d' 0", 1, capture.ErrEndOfStream, "in the middle of a frame (8 of 24 bytes)"},
		{"fails after a frame", esc(path), probed, "printf '%024d' 0; echo disk on fire >&2; exit 3", 1, capture.ErrDeviceGone, "status 3: it said: disk on fire"},
		{"talks without end", esc(path), probed, "yes 'error while decoding' | head -c 2000000 >&2; exit 1", 0, nil, "...; error while decoding; error"},
		{"no frames", esc(path), probed, "exit 0", 0, capture.ErrFormatRefused, "no frames in it"},
		{"dies of a signal", esc(path), probed, "kill -SEGV $$", 0, nil, "killed by signal 11"},
		{"probe talks nonsense", esc(path), "echo hello", "exit 0", 0, capture.ErrFormatRefused, "answer of ffprobe"},
		{"URL not there", "c=replay:http://127.0.0.1:1/x", "echo 'Server returned 404 Not Found' >&2; exit 1", "", 0, capture.ErrDeviceNotFound, "404"},
		{"live stream ends", "c=replay:rtsp://u:secret@h/x", probed, "printf '%024d' 0", 1, capture.ErrDeviceGone, "replay rtsp://h/x: the stream ended after 1 frames"},
		{"device not there", "c=v4l2:/dev/none-of-this", probed, "exit 0", 0, capture.ErrDeviceNotFound, "/dev/none-of-this"},
		{"device unplugged", "c=v4l2:/dev/null,4x2@30", probed, "printf '%024d' 0; echo 'ioctl(VIDIOC_DQBUF): No such device' >&2; exit 1", 1, capture.ErrDeviceGone, "No such device"},
		{"device ends quietly", "c=v4l2:/dev/null", probed, "printf '%024d' 0", 1, capture.ErrDeviceGone, "ended after 1 frames"},
		{"not a camera", "c=v4l2:/dev/null", "echo '/dev/null: Inappropriate ioctl for device' >&2; exit 1", "", 0, capture.ErrFormatRefused, "Inappropriate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake(t, c.ffprobe, c.ffmpeg)
			st, err := play(t, c.spec, nil)
			if err == nil || st.Frames != c.frames || !strings.Contains(err.Error(), c.text) || (c.want != nil && !errors.Is(err, c.want)) {
				t.Fatalf("%d frames, %v; want %d, %v, %q", st.Frames, err, c.frames, c.want, c.text)
			}
			if len(err.Error()) > 4000 || strings.Contains(err.Error(), "secret") {
				t.Errorf("error of %d bytes: %.400s", len(err.Error()), err)
			}
		})
	}
}

// A loop over a damaged file goes on and says once what is wrong with it.
func TestDamagedLoopIsSaid(t *testing.T) {
	fake(t, probed, "printf '%056d' 0") // two frames and a third of one
	var said bytes.Buffer
	s := source(t, esc(write(t, "some.avi", []byte("x")))+",loop=true,pace=fast")
	s.Log = slog.New(slog.NewTextHandler(&said, nil))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	frames := 0
	err := s.Run(ctx, &capturetest.Sink{OnFrame: func(capturetest.Frame) {
		if frames++; frames == 5 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if n := strings.Count(said.String(), `frames=2 problem="in the middle of a frame (8 of 24 bytes)"`); n != 1 {
		t.Errorf("said %d times in\n%s", n, said.String())
	}
}

func TestAKilledProbeIsTriedAgain(t *testing.T) {
	fake(t, "kill -9 $$", "exit 0")
	_, err := play(t, esc(write(t, "some.avi", []byte("x"))), nil)
	if err == nil || errors.Is(err, capture.ErrFormatRefused) || !strings.Contains(err.Error(), "ffprobe was killed by signal 9") {
		t.Fatal(err)
	}
}

func TestStopsWhileTheChildHangsAtItsEnd(t *testing.T) {
	fake(t, probed, "printf '%024d' 0; exec >&-; exec sleep 1000")
	_, err := play(t, esc(write(t, "some.avi", []byte("x"))), func(capturetest.Frame) bool { return false })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func FuzzParseProbe(f *testing.F) {
	f.Add([]byte(`{"streams":[{"width":768,"height":576,"avg_frame_rate":"10/1","r_frame_rate":"10/1","nb_frames":"795","duration":"79.5","side_data_list":[{"rotation":-90}]}],"format":{"duration":"79.5"}}`))
	f.Add([]byte(`{"streams":[{"width":2,"height":2,"avg_frame_rate":"0/0","r_frame_rate":"90000/1","nb_frames":"N/A","duration":"1e300"}]}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		c, err := parseProbe(answer)
		if err != nil {
			return
		}
		if c.width < 1 || c.height < 1 || c.width > frame.MaxSide || c.height > frame.MaxSide || c.rate < 0 || c.rate > 1000 || c.frames > 1<<62 {
			t.Fatalf("%+v", c)
		}
	})
}

func TestParseProbe(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		want         clip
	}{
		{"average off by rounding", `{"streams":[{"width":6,"height":4,"avg_frame_rate":"2997/100","r_frame_rate":"30000/1001","nb_frames":"300"}]}`, clip{6, 4, 30000.0 / 1001, 300}},
		{"varying rate", `{"streams":[{"width":6,"height":4,"avg_frame_rate":"24/1","r_frame_rate":"90000/1","duration":"10.0"}]}`, clip{6, 4, 24, 240}},
		{"upright phone", `{"streams":[{"width":6,"height":4,"avg_frame_rate":"30/1","side_data_list":[{"rotation":-90}]}]}`, clip{4, 6, 30, 0}},
		{"upside down", `{"streams":[{"width":6,"height":4,"avg_frame_rate":"30/1","side_data_list":[{"rotation":180}]}]}`, clip{6, 4, 30, 0}},
		{"nothing known", `{"streams":[{"width":6,"height":4,"avg_frame_rate":"0/0","r_frame_rate":"0/0","nb_frames":"N/A"}]}`, clip{6, 4, 0, 0}},
		{"length of the container", `{"streams":[{"width":6,"height":4,"avg_frame_rate":"25/1"}],"format":{"duration":"2"}}`, clip{6, 4, 25, 50}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseProbe([]byte(c.answer))
			if err != nil || got != c.want {
				t.Fatalf("%+v, %v; want %+v", got, err, c.want)
			}
		})
	}
	for _, bad := range []string{``, `{}`, `{"streams":[{"width":0,"height":4}]}`, `{"streams":[{"width":70000,"height":4}]}`} {
		if got, err := parseProbe([]byte(bad)); err == nil {
			t.Errorf("%q gave %+v", bad, got)
		}
	}
}

func TestTail(t *testing.T) {
	tl := newTail()
	fmt.Fprintf(tl, "one\r\ntwo\n\npart")
	fmt.Fprintf(tl, " of three")
	if got := tl.text(); got != "one; two; part of three" {
		t.Errorf("%q", got)
	}
	for i := range 100 {
		fmt.Fprintf(tl, "%d %s\n", i, strings.Repeat("x", 5000))
	}
	got := tl.text()
	if len(got) > tailLines*(tailLineBytes+2)+10 || !strings.HasPrefix(got, "...; 92 x") || !strings.Contains(got, "; 99 x") {
		t.Errorf("%d bytes: %.80s", len(got), got)
	}
}

func TestDeviceIsAskedForSizeAndRate(t *testing.T) {
	fake(t, probed, `echo "$@" >&2; printf '%024d' 0; exit 1`)
	var got capturetest.Frame
	_, err := play(t, "c=v4l2:/dev/null,640x480@15,input.input_format=mjpeg", func(f capturetest.Frame) bool { got = f; return true })
	for _, want := range []string{"-f v4l2 -framerate 15 -video_size 640x480 -input_format mjpeg -i /dev/null", "-vsync passthrough"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
	if got.Format.Clock != frame.ClockArrival || got.Stamp.Flags != 0 || got.Format.Geometry.Width != 4 {
		t.Errorf("frame %+v", got.Stamp)
	}
}

func TestGrandchildrenAreKilled(t *testing.T) {
	path := write(t, "some.avi", []byte("x"))
	fake(t, probed, "sleep 1000 & printf '%024d' 0; exec sleep 1000")
	_, err := play(t, esc(path), func(capturetest.Frame) bool { return false })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if n := len(children(t, os.Getpid())); n != 0 {
		t.Errorf("%d child processes are left", n)
	}
}
