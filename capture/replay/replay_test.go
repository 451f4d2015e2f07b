// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/frame"
)

func TestMain(m *testing.M) {
	if os.Getenv(orphanEnv) != "" {
		orphanMain()
		return
	}
	goleak.VerifyTestMain(m)
}

// missing skips, or fails where everything has to be there.

func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing", what)
	}
	t.Skipf("%s is missing", what)
}

func needFFmpeg(t *testing.T) {
	t.Helper()
	for _, p := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(p); err != nil {
			missing(t, p)
		}
	}
}

// footage returns real video: 768x576, 10 frames a second, 795 frames.

func footage(t *testing.T) string {
	t.Helper()
	needFFmpeg(t)
	path := os.Getenv("CAMD_TEST_CLIP")
	if path == "" {
		path = "/usr/share/doc/opencv-doc/examples/data/vtest.avi"
	}
	if _, err := os.Stat(path); err == nil {
		return path
	}
	packed, err := exec.Command("gzip", "-dc", path+".gz").Output()
	if err != nil || len(packed) == 0 {
		missing(t, path+" (Debian package opencv-doc, or set CAMD_TEST_CLIP)")
	}
	return write(t, "clip.avi", packed)
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// short makes a small clip of n numbered test frames.

func short(t *testing.T, n int) string {
	t.Helper()
	needFFmpeg(t)
	path := filepath.Join(t.TempDir(), "short.avi")
	out, err := exec.Command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=160x120:r=50", "-frames:v", fmt.Sprint(n),
		"-c:v", "mjpeg", "-q:v", "4", path).CombinedOutput()
	if err != nil {
		t.Fatalf("making a clip: %v: %s", err, out)
	}
	return path
}

func source(t *testing.T, text string) *Source {
	t.Helper()
	spec, err := capture.ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	build := New
	if spec.Kind == "v4l2" {
		build = NewDevice
	}
	s, err := build(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func esc(path string) string {
	return capture.Spec{Name: "c", Kind: "replay", Target: path}.String()
}

// play runs the source until it ends or see returns false. Only the stream
// color is seen and counted.
func play(t *testing.T, text string, see func(capturetest.Frame) bool) (capturetest.Stats, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	frames := 0
	sink := &capturetest.Sink{OnFrame: func(f capturetest.Frame) {
		if f.Stream != Stream {
			return
		}
		frames++
		if see != nil && !see(f) {
			cancel()
		}
	}}
	err := source(t, text).Run(ctx, sink)
	st := sink.Stats()
	st.Frames = frames
	if st.Held != 0 || len(st.Misuse) > 0 {
		t.Errorf("held %d slots at the end, misuse %v", st.Held, st.Misuse)
	}
	return st, err
}

func TestFramesAreWhatFFmpegYields(t *testing.T) {
	path := footage(t)
	const n = 20
	for _, c := range []struct {
		name, options string
		format, size  string
		w, h          int
	}{
		{"bgr8 by default", "", "bgr24", "", 768, 576},
		{"nv12", ",encoding=nv12", "nv12", "", 768, 576},
		{"yuyv", ",encoding=yuyv", "yuyv422", "", 768, 576},
		{"mono8 scaled", ",320x240,encoding=mono8", "gray", "320x240", 320, 240},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"-v", "error", "-i", path, "-frames:v", fmt.Sprint(n), "-f", "rawvideo", "-pix_fmt", c.format}
			if c.size != "" {
				args = append(args, "-s", c.size)
			}
			raw, err := exec.Command("ffmpeg", append(args, "pipe:1")...).Output()
			if err != nil {
				t.Fatal(err)
			}
			size := len(raw) / n
			frames := 0
			_, err = play(t, esc(path)+",pace=fast"+c.options, func(f capturetest.Frame) bool {
				if frames == n {
					return false
				}
				g := f.Format.Geometry
				if g.Width != c.w || g.Height != c.h || f.Format.Clock != frame.ClockReplay || f.Format.Interval != 0 {
					t.Fatalf("format %+v", f.Format)
				}
				if sha256.Sum256(f.Data) != sha256.Sum256(raw[frames*size:(frames+1)*size]) {
					t.Errorf("frame %d differs from ffmpeg's", frames)
				}
				frames++
				if f.Stamp.Flags != frame.Replayed || f.Stamp.CopiedBytes != 0 || f.Stamp.DriverSequence != uint64(frames) {
					t.Errorf("stamp of frame %d: %+v", frames, f.Stamp)
				}
				return true
			})
			if !errors.Is(err, context.Canceled) || frames != n {
				t.Fatalf("%d frames, %v", frames, err)
			}
		})
	}
}

// One picture that ffmpeg reads is shown at the usual rate, by one child.
func TestStillPictureLoops(t *testing.T) {
	needFFmpeg(t)
	path := filepath.Join(t.TempDir(), "still.bmp")
	if out, err := exec.Command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=s=64x48", "-frames:v", "1", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var first []byte
	n := 0
	_, err := play(t, esc(path)+",loop=true", func(f capturetest.Frame) bool {
		if f.Format.Interval != 40*time.Millisecond {
			t.Errorf("interval %v", f.Format.Interval)
		}
		if first == nil {
			first = bytes.Clone(f.Data)
		}
		n++
		if !bytes.Equal(f.Data, first) || f.Stamp.DriverSequence != uint64(n) || n > 1 && f.Stamp.CopiedBytes != len(first) {
			t.Errorf("frame %d: %+v", n, f.Stamp)
		}
		return n < 10
	})
	if !errors.Is(err, context.Canceled) || n < 10 {
		t.Fatalf("%d frames, %v", n, err)
	}
}

func TestWholeFile(t *testing.T) {
	path := footage(t)
	st, err := play(t, esc(path)+",96x72,pace=fast,encoding=mono8", nil)
	if !errors.Is(err, capture.ErrEndOfStream) || st.Frames != 795 || strings.Contains(err.Error(), "early") {
		t.Fatalf("%d frames, %v; want 795 and the end", st.Frames, err)
	}
}

func TestPacedByTheFile(t *testing.T) {
	path := short(t, 25)
	for _, c := range []struct {
		options  string
		interval int64
	}{{"", 20e6}, {",speed=4", 5e6}, {",@100", 10e6}} {
		t.Run("options"+c.options, func(t *testing.T) {
			var stamps []int64
			_, err := play(t, esc(path)+c.options, func(f capturetest.Frame) bool {
				if int64(f.Format.Interval) != c.interval {
					t.Errorf("interval %v", f.Format.Interval)
				}
				stamps = append(stamps, f.Stamp.CaptureNanos)
				return true
			})
			if !errors.Is(err, capture.ErrEndOfStream) || len(stamps) != 25 {
				t.Fatalf("%d frames, %v", len(stamps), err)
			}
			for i := 1; i < len(stamps); i++ {
				if d := stamps[i] - stamps[i-1]; d < c.interval {
					t.Errorf("frame %d is %d ns after the one before, want %d", i, d, c.interval)
				}
			}
		})
	}
}

func TestLoop(t *testing.T) {
	path := short(t, 7)
	var numbers, breaks []uint64
	last := int64(0)
	_, err := play(t, esc(path)+",loop=true,pace=fast", func(f capturetest.Frame) bool {
		numbers = append(numbers, f.Stamp.DriverSequence)
		if f.Stamp.Flags&frame.Discontinuity != 0 {
			breaks = append(breaks, uint64(len(numbers)))
		}
		if f.Stamp.CaptureNanos <= last {
			t.Errorf("frame %d: the stamp goes back", len(numbers))
		}
		last = f.Stamp.CaptureNanos
		return len(numbers) < 20
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if want := []uint64{8, 15}; !slices.Equal(breaks[:2], want) {
		t.Errorf("discontinuity at frames %v, want %v", breaks, want)
	}
	for i, n := range numbers {
		if n != uint64(i%7)+1 {
			t.Fatalf("numbers %v", numbers)
		}
	}
}

func TestDamageIsReported(t *testing.T) {
	needFFmpeg(t)
	whole, err := os.ReadFile(footage(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, c := range []struct {
		name, path string
		want       error
		text       string
	}{
		{"missing", filepath.Join(dir, "none.avi"), capture.ErrDeviceNotFound, "none.avi"},
		{"directory", dir, capture.ErrConfig, "directory"},
		{"empty", write(t, "empty.avi", nil), capture.ErrFormatRefused, "empty.avi"},
		{"no video", write(t, "text.avi", []byte(strings.Repeat("not a video\n", 999))), capture.ErrFormatRefused, "text.avi"},
		{"truncated", write(t, "cut.avi", whole[:len(whole)/10]), capture.ErrEndOfStream, "early: its header promises 795"},
		{"audio only", sound(t), capture.ErrFormatRefused, "no video"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := play(t, esc(c.path)+",96x72,pace=fast", nil)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("%v; want %q and %q", err, c.want, c.text)
			}
		})
	}
}

func sound(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "sound.wav")
	if out, err := exec.Command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=d=0.1", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// children lists the child processes of a process.

func TestStopsWhileTheInputStalls(t *testing.T) {
	needFFmpeg(t)
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	// Our own write end lets ffmpeg open it, and then nothing comes.
	end, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sink := &capturetest.Sink{}
	opened := openHook{sink, cancel}
	err = source(t, esc(path)+",64x48@10,input.f=mjpeg").Run(ctx, opened)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want the end of the context", err)
	}
	if n := len(children(t, os.Getpid())); n != 0 {
		t.Errorf("%d child processes are left", n)
	}
	if _, err := play(t, esc(path), nil); !errors.Is(err, capture.ErrConfig) || !strings.Contains(err.Error(), "WxH@R") {
		t.Errorf("a FIFO of unknown size: %v", err)
	}
}

// openHook calls a function once the stream is open.

type openHook struct {
	capture.Sink
	hook func()
}

func (o openHook) Open(stream string, f capture.Format) (capture.Writer, error) {
	w, err := o.Sink.Open(stream, f)
	time.AfterFunc(100*time.Millisecond, o.hook)
	return w, err
}

func TestNoSlotGoesOn(t *testing.T) {
	path := short(t, 12)
	w := &fullWriter{}
	err := source(t, esc(path)+",pace=fast").Run(t.Context(), openFunc(func() capture.Writer { return w }))
	if !errors.Is(err, capture.ErrEndOfStream) || w.dropped != 2*12 {
		t.Fatalf("%d frames dropped, %v; want 12 of each stream and the end", w.dropped, err)
	}
}

type openFunc func() capture.Writer

func (f openFunc) Open(string, capture.Format) (capture.Writer, error) { return f(), nil }

type fullWriter struct {
	capture.Writer
	dropped int
}

func (w *fullWriter) Acquire() (*capture.Slot, error) { return nil, capture.ErrNoSlot }

func (w *fullWriter) Drop(n int, r capture.DropReason) {
	if r == capture.DropNoSlot {
		w.dropped += n
	}
}

// fake puts shell scripts in the place of both programs.

func TestFramesDoNotAllocate(t *testing.T) {
	needFFmpeg(t)
	var before, after runtime.MemStats
	frames := 0
	_, err := play(t, "c=replay:testsrc2=s=64x48:r=500,input.f=lavfi,pace=fast", func(capturetest.Frame) bool {
		switch frames++; frames {
		case 100:
			runtime.ReadMemStats(&before)
		case 1100:
			runtime.ReadMemStats(&after)
		}
		return frames < 1100
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	// The run time itself allocates now and then.
	if n := after.Mallocs - before.Mallocs; n > 100 {
		t.Errorf("%d allocations in 1000 frames", n)
	}
}

func TestOptionsRefused(t *testing.T) {
	for _, text := range []string{
		"c=replay", "c=replay:x,loop=maybe", "c=replay:x,pace=slow", "c=replay:x,input.i=/etc/passwd", "c=replay:x,input.dump_attachment:t=/x",
		"c=replay:x,speed=2,@5", "c=replay:x,5x5,encoding=nv12", "c=replay:x,encoding=jpeg", "c=replay:x,lop=true", "c=replay:rtsp://x,loop=true", "c=v4l2:/dev/video0,loop=true",
	} {
		spec, err := capture.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		build := New
		if spec.Kind == "v4l2" {
			build = NewDevice
		}
		if _, err := build(spec); !errors.Is(err, capture.ErrConfig) {
			t.Errorf("%s: %v, want %v", text, err, capture.ErrConfig)
		}
	}
}

func writeTo(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
