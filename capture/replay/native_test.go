// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/dl"
)

func ffmpegRun(t *testing.T, args ...string) []byte {
	t.Helper()
	needFFmpeg(t)
	cmd := exec.Command("ffmpeg", append([]string{"-v", "error", "-nostdin", "-y"}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ffmpeg %v: %v: %s", args, err, errs.String())
	}
	return out
}

// made is n test frames in a file of the given name and ffmpeg's pixel format.
func made(t *testing.T, name, pixels, size string, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if strings.Contains(name, "%") {
		path = filepath.Join(t.TempDir(), name)
	}
	args := []string{"-f", "lavfi", "-i", "testsrc2=s=320x240:r=50", "-vf", "scale=" + strings.Replace(size, "x", ":", 1) + ",format=" + pixels, "-frames:v", fmt.Sprint(n), "-strict", "-1"}
	if strings.HasSuffix(name, ".raw") {
		args = append(args, "-f", "rawvideo")
	}
	ffmpegRun(t, append(args, path)...)
	return path
}

// withoutFFmpeg makes sure that ffmpeg is not what reads.
func withoutFFmpeg(t *testing.T) { t.Setenv("PATH", t.TempDir()) }

func tight(t *testing.T, g frame.Geometry) {
	t.Helper()
	want, err := frame.NewGeometry(g.Encoding, g.Width, g.Height)
	if err != nil || g != want {
		t.Fatalf("geometry %+v, want %+v, %v", g, want, err)
	}
}

func TestNativeFramesAreThoseOfFFmpeg(t *testing.T) {
	const n = 6
	for _, c := range []struct {
		name, file, pixels, size string
		options                  string
		encoding                 frame.Encoding
		out                      string // ffmpeg's name of it
		copied                   func(g frame.Geometry) int
	}{
		{"y4m", "a.y4m", "yuv420p", "64x48", "", frame.NV12, "nv12", func(g frame.Geometry) int { return g.Width * g.Height / 2 }},
		{"y4m by content", "a.y4m", "yuv422p", "64x48", ",reader=native", frame.YUV422YUY2, "yuyv422", frame.Geometry.Size},
		{"y4m grey", "a.y4m", "gray", "64x48", "", frame.Mono8, "gray", func(frame.Geometry) int { return 0 }},
		{"raw", "a.raw", "bgr24", "63x47", ",63x47@50,encoding=bgr8", frame.BGR8, "bgr24", func(frame.Geometry) int { return 0 }},
		{"raw nv12", "a.raw", "nv12", "64x48", ",64x48@50,encoding=nv12", frame.NV12, "nv12", func(frame.Geometry) int { return 0 }},
		{"raw by another name", "a.raw", "gray", "5x3", ",5x3,encoding=mono8,reader=native", frame.Mono8, "gray", func(frame.Geometry) int { return 0 }},
		{"pictures", "f%d.png", "rgb24", "63x47", ",@50", frame.BGR8, "bgr24", frame.Geometry.Size},
		{"pictures in another encoding", "f%d.png", "rgb24", "64x48", ",encoding=rgba8", frame.RGBA8, "rgba", frame.Geometry.Size},
		{"grey pictures", "f%d.png", "gray", "64x48", "", frame.Mono8, "gray", frame.Geometry.Size},
		{"deep pictures", "f%d.png", "gray16be", "64x48", "", frame.Mono16, "gray16le", frame.Geometry.Size},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := made(t, c.file, c.pixels, c.size, n)
			in := []string{"-i", path}
			target := path
			switch {
			case strings.HasSuffix(c.file, ".raw"):
				in = []string{"-f", "rawvideo", "-pix_fmt", c.pixels, "-video_size", c.size, "-i", path}
			case strings.HasSuffix(c.file, ".png"):
				target = filepath.Dir(path)
			}
			raw := ffmpegRun(t, append(in, "-f", "rawvideo", "-pix_fmt", c.out, "pipe:1")...)
			if strings.Contains(c.name, "by another name") {
				target = filepath.Join(t.TempDir(), "bytes")
				if err := os.Rename(path, target); err != nil {
					t.Fatal(err)
				}
			}
			withoutFFmpeg(t)
			size := len(raw) / n
			i := 0
			st, err := play(t, esc(target)+c.options+",pace=fast", func(f capturetest.Frame) bool {
				g := f.Format.Geometry
				tight(t, g)
				if g.Encoding != c.encoding || g.Size() != size || f.Format.Clock != frame.ClockReplay {
					t.Fatalf("%v of %d bytes, want %s of %d", g, g.Size(), c.encoding, size)
				}
				if !bytes.Equal(f.Data, raw[i*size:(i+1)*size]) {
					t.Errorf("frame %d is not that of ffmpeg", i)
				}
				i++
				if f.Stamp.CopiedBytes != c.copied(g) || f.Stamp.Flags != frame.Replayed || f.Stamp.DriverSequence != uint64(i) {
					t.Errorf("stamp %+v, want %d bytes copied", f.Stamp, c.copied(g))
				}
				return true
			})
			if !errors.Is(err, capture.ErrEndOfStream) || st.Frames != n || !strings.HasSuffix(err.Error(), fmt.Sprintf("%d frames", n)) {
				t.Fatalf("%d frames, %v", st.Frames, err)
			}
		})
	}
}

// By way of package convert, which differs from swscale by one.
func TestNativeConverts(t *testing.T) {
	path := made(t, "a.y4m", "yuv420p", "64x48", 2)
	raw := ffmpegRun(t, "-i", path, "-f", "rawvideo", "-pix_fmt", "gray", "pipe:1")
	withoutFFmpeg(t)
	i := 0
	_, err := play(t, esc(path)+",pace=fast,encoding=bgr8", func(f capturetest.Frame) bool {
		if g := f.Format.Geometry; g.Encoding != frame.BGR8 || f.Stamp.CopiedBytes != g.Size() {
			t.Fatalf("%v, %+v", g, f.Stamp)
		}
		// The sum of the luma tells the right frame from others.
		want, got := 0, 0
		for _, y := range raw[i*64*48 : (i+1)*64*48] {
			want += (int(y) - 16) * 255 / 219
		}
		for p := 0; p < len(f.Data); p += 3 {
			got += (114*int(f.Data[p]) + 587*int(f.Data[p+1]) + 299*int(f.Data[p+2])) / 1000
		}
		if d := got - want; d < -2*64*48 || d > 2*64*48 {
			t.Errorf("frame %d has a brightness of %d, want about %d", i, got, want)
		}
		i++
		return true
	})
	if !errors.Is(err, capture.ErrEndOfStream) || i != 2 {
		t.Errorf("%d frames, %v", i, err)
	}
}

func TestWhoReads(t *testing.T) {
	y420, y444 := made(t, "a.y4m", "yuv420p", "64x48", 2), made(t, "b.y4m", "yuv444p", "64x48", 2)
	avi := made(t, "c.avi", "yuvj420p", "64x48", 2)
	raw := made(t, "d.raw", "gray", "64x48", 2)
	other := write(t, "e.bin", make([]byte, 100))
	dir := t.TempDir()
	for _, c := range []struct {
		name, target, options string
		native                bool
		want                  error
		text                  string
	}{
		{"y4m", y420, "", true, nil, ""},
		{"y4m asked of ffmpeg", y420, ",reader=ffmpeg", false, nil, "asked for"},
		{"y4m scaled", y420, ",32x24", false, nil, "to scale 64x48 to 32x24"},
		{"y4m scaled without ffmpeg", y420, ",32x24,reader=native", true, capture.ErrFormatRefused, "needs ffmpeg: to scale"},
		{"y4m with options of ffmpeg", y420, ",input.ss=0", false, nil, "its own"},
		{"4:4:4", y444, "", false, nil, "C444"},
		{"4:4:4 without ffmpeg", y444, ",reader=native", true, capture.ErrFormatRefused, "no encoding for: C444"},
		{"avi", avi, "", false, nil, "avi"},
		{"raw of unknown size", raw, "", true, capture.ErrConfig, "WxH@R and encoding=NAME are needed"},
		{"raw of a wrong size", raw, ",60x48,encoding=mono8", true, capture.ErrFormatRefused, "6144 bytes are not a multiple of the 2880"},
		{"unknown", other, "", false, nil, "unknown format"},
		{"step of no raw file", y420, ",step=128", true, capture.ErrConfig, "this is y4m"},
		{"empty folder", dir, "", true, capture.ErrConfig, "is a directory without pictures"},
		{"missing", filepath.Join(dir, "x"), "", true, capture.ErrDeviceNotFound, "no such file: " + filepath.Join(dir, "x")},
		{"missing without ffmpeg", filepath.Join(dir, "x"), ",reader=native", true, capture.ErrDeviceNotFound, "x"},
		{"damaged header", write(t, "f.y4m", []byte("YUV4MPEG2 W0 H0\n")), "", true, capture.ErrFormatRefused, "damaged YUV4MPEG2 header"},
		{"no frames", write(t, "g.y4m", []byte("YUV4MPEG2 W2 H2 Cmono\n")), "", true, capture.ErrFormatRefused, "no frames in it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := source(t, esc(c.target)+c.options+",pace=fast")
			rec, _, err := s.native()
			if rec != nil {
				_ = rec.Close()
			}
			if got := !errors.Is(err, errElse); got != c.native && s.reader != readerNative || !c.native && !strings.Contains(err.Error(), c.text) {
				t.Fatalf("read without ffmpeg: %v; want %v, %q", err, c.native, c.text)
			}
			if !c.native {
				return
			}
			if _, err = play(t, esc(c.target)+c.options+",pace=fast", nil); c.want != nil && (!errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text)) {
				t.Errorf("%v; want %v, %q", err, c.want, c.text)
			}
		})
	}
}

func TestNativeLoopAndPace(t *testing.T) {
	path := made(t, "a.y4m", "gray", "16x8", 4)
	withoutFFmpeg(t)
	var numbers []uint64
	var breaks []int
	var stamps []int64
	_, err := play(t, esc(path)+",loop=true,speed=4", func(f capturetest.Frame) bool {
		numbers = append(numbers, f.Stamp.DriverSequence)
		stamps = append(stamps, f.Stamp.CaptureNanos)
		if f.Stamp.Flags&frame.Discontinuity != 0 {
			breaks = append(breaks, len(numbers))
		}
		if f.Format.Interval != 5e6 {
			t.Errorf("interval %v", f.Format.Interval)
		}
		return len(numbers) < 10
	})
	if !errors.Is(err, context.Canceled) || !slices.Equal(numbers[:10], []uint64{1, 2, 3, 4, 1, 2, 3, 4, 1, 2}) || !slices.Equal(breaks, []int{5, 9}) {
		t.Errorf("%v, breaks at %v, %v", numbers, breaks, err)
	}
	for i := 1; i < len(stamps); i++ {
		if d := stamps[i] - stamps[i-1]; d < 5e6 {
			t.Errorf("frame %d is %d ns after the one before", i, d)
		}
	}
}

func TestNativeDamage(t *testing.T) {
	whole, err := os.ReadFile(made(t, "a.y4m", "yuv420p", "64x48", 3))
	if err != nil {
		t.Fatal(err)
	}
	pictures := filepath.Dir(made(t, "f%d.png", "rgb24", "64x48", 4))
	if err := os.WriteFile(filepath.Join(pictures, "f1.png"), []byte("not a picture"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(pictures, "f3.png"), 100); err != nil {
		t.Fatal(err)
	}
	hopeless := t.TempDir()
	if err := os.WriteFile(filepath.Join(hopeless, "a.png"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	withoutFFmpeg(t)
	for _, c := range []struct {
		name, target string
		frames       int
		damaged      uint64
		want         error
		text         string
	}{
		{"cut", write(t, "cut.y4m", whole[:len(whole)-100]), 2, 0, capture.ErrEndOfStream, "2 frames, it ends in the middle of a frame (4508 of 4608 bytes)"},
		{"rubbish between", write(t, "bad.y4m", slices.Concat(whole[:len(whole)-4614], []byte("XXXXXX"), whole[len(whole)-4608:])), 2, 0, nil, "no line FRAME"},
		{"pictures", pictures, 2, 2, capture.ErrEndOfStream, "2 frames, damaged frames: 2 unreadable; first damaged frame: f1.png: not a readable picture"},
		{"nothing but damage", hopeless, 0, 0, capture.ErrFormatRefused, "no frames in it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, err := play(t, esc(c.target)+",pace=fast,reader=native", nil)
			if st.Frames != c.frames || uint64(st.Dropped[capture.DropDamaged]) != c.damaged || err == nil || !strings.Contains(err.Error(), c.text) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%d frames, %v dropped, %v; want %d, %d, %q", st.Frames, st.Dropped, err, c.frames, c.damaged, c.text)
			}
		})
	}
}

func TestFastEndlessRecordingStops(t *testing.T) {
	withoutFFmpeg(t)
	frames := 0
	_, err := play(t, esc(write(t, "a.raw", make([]byte, 64)))+",8x8,encoding=mono8,pace=fast,loop=true", func(capturetest.Frame) bool {
		frames++
		return frames < 100
	})
	if !errors.Is(err, context.Canceled) || frames > 101 {
		t.Errorf("%d frames, %v", frames, err)
	}
}

func TestPicturesOfSeveralSizes(t *testing.T) {
	dir := t.TempDir()
	for i, size := range []string{"64x48", "64x48", "32x24"} {
		ffmpegRun(t, "-f", "lavfi", "-i", "testsrc2=s="+size, "-frames:v", "1", filepath.Join(dir, fmt.Sprintf("%d.png", i+8)))
	}
	withoutFFmpeg(t)
	var widths []int
	_, err := play(t, esc(dir)+",pace=fast", func(f capturetest.Frame) bool {
		widths = append(widths, f.Format.Geometry.Width)
		return true
	})
	if !errors.Is(err, capture.ErrEndOfStream) || !slices.Equal(widths, []int{64, 64, 32}) {
		t.Errorf("%v, %v", widths, err)
	}
}

func TestNativeNoSlotGoesOn(t *testing.T) {
	path := made(t, "a.y4m", "yuv420p", "64x48", 12)
	w := &fullWriter{}
	err := source(t, esc(path)+",pace=fast,reader=native").Run(t.Context(), openFunc(func() capture.Writer { return w }))
	if !errors.Is(err, capture.ErrEndOfStream) || w.dropped != 12 {
		t.Fatalf("%d frames dropped, %v; want 12 and the end", w.dropped, err)
	}
}

func TestRawWithPadding(t *testing.T) {
	withoutFFmpeg(t)
	path := write(t, "p.raw", []byte("abc##def##ghi##jkl##"))
	var got []string
	_, err := play(t, esc(path)+",3x2,encoding=mono8,step=5,pace=fast", func(f capturetest.Frame) bool {
		if f.Format.Geometry.Step != 5 {
			t.Errorf("step %d", f.Format.Geometry.Step)
		}
		got = append(got, string(f.Data))
		return true
	})
	if !errors.Is(err, capture.ErrEndOfStream) || !slices.Equal(got, []string{"abc##def##", "ghi##jkl##"}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNativeOptionsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"c=replay:x,reader=mine":                     "want one of auto, native, ffmpeg",
		"c=replay:rtsp://h/x,reader=native":          "is live",
		"c=replay:x,reader=native,input.ss=5":        "are ffmpeg's",
		"c=replay:x,encoding=bayer_rggb8":            "ffmpeg is not asked for bayer_rggb8",
		"c=replay:x,step=-1":                         "a whole number",
		"c=replay:x,reader=ffmpeg,5x5,encoding=nv12": "must be even",
	} {
		spec, err := capture.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(spec); !errors.Is(err, capture.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := New(capture.Spec{Name: "c", Kind: "replay", Target: "x", Width: 5, Height: 5, Options: map[string]string{"encoding": "bayer_rggb8", "reader": "native"}}); err != nil {
		t.Error(err)
	}
}

func TestNativeFramesDoNotAllocate(t *testing.T) {
	y := made(t, "a.y4m", "yuv420p", "64x48", 10)
	avi := write(t, "a.avi", aviOf(jpegs(t, 10)))
	withoutFFmpeg(t)
	for name, text := range map[string]string{"y4m": esc(y), "converted": esc(y) + ",encoding=bgr8", "avi": esc(avi)} {
		t.Run(name, func(t *testing.T) {
			if name == "avi" && !dl.Available {
				t.Skip("Go's decoder allocates")
			}
			var before, after runtime.MemStats
			frames := 0
			_, err := play(t, text+",pace=fast,loop=true", func(capturetest.Frame) bool {
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
			// A new pass of the file may take some.
			if n := after.Mallocs - before.Mallocs; n > 600 {
				t.Errorf("%d allocations in 1000 frames", n)
			}
		})
	}
}

// What a file is damaged in stays damaged: it comes to its end there and is not
// read again and again.
func TestDamagedStructureIsTheEnd(t *testing.T) {
	frame := append([]byte("FRAME\n"), make([]byte, 4*4*3/2)...)
	file := []byte("YUV4MPEG2 W4 H4 F50:1 C420jpeg\n")
	for range 3 {
		file = append(file, frame...)
	}
	file = append(file, "rubbish in the middle"...)
	file = append(file, frame...)
	path := filepath.Join(t.TempDir(), "damaged.y4m")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	spec, err := capture.ParseSpec("clip=replay:" + path + ",pace=fast,reader=native")
	if err != nil {
		t.Fatal(err)
	}
	src, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	sink := &capturetest.Sink{}
	err = src.Run(t.Context(), sink)
	if !errors.Is(err, capture.ErrEndOfStream) || !strings.Contains(err.Error(), "3 frames") || !strings.Contains(err.Error(), "no line FRAME") {
		t.Errorf("got %v", err)
	}
	if n := sink.Stats().Frames; n != 3 {
		t.Errorf("%d frames were published, want 3", n)
	}
}
