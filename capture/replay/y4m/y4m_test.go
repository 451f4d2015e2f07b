// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package y4m

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
)

func TestParseHeader(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       Header
	}{
		{"of ffmpeg", "YUV4MPEG2 W768 H576 F10:1 Ip A1:1 C420jpeg XYSCSS=420JPEG\n", Header{768, 576, 10, 1, 'p', "420jpeg", "", 58}},
		{"full range", "YUV4MPEG2 W7 H5 F30000:1001 It A0:0 C420jpeg XYSCSS=420JPEG XCOLORRANGE=FULL\n", Header{7, 5, 30000, 1001, 't', "420jpeg", frame.Full, 77}},
		{"limited range", "YUV4MPEG2 W7 H5 XCOLORRANGE=LIMITED C422\n", Header{7, 5, 0, 0, '?', "422", frame.Limited, 41}},
		{"least", "YUV4MPEG2 W1 H1\n", Header{1, 1, 0, 0, '?', "420jpeg", "", 16}},
		{"what is not known", "YUV4MPEG2 Q5 W1 H1 Xwhatever X\n", Header{1, 1, 0, 0, '?', "420jpeg", "", 31}},
		{"rate 0:0", "YUV4MPEG2 W1 H1 F0:0\n", Header{1, 1, 0, 0, '?', "420jpeg", "", 21}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := ParseHeader([]byte(c.line + "FRAME\n"))
			if err != nil || h != c.want {
				t.Errorf("%+v, %v; want %+v", h, err, c.want)
			}
		})
	}
	if r := (Header{RateNum: 30000, RateDen: 1001}).Rate(); r < 29.97 || r > 29.98 {
		t.Errorf("rate %v", r)
	}
	for _, bad := range []string{
		"", "YUV4MPEG2", "YUV4MPEG2 W1 H1", "YUV4MPEG3 W1 H1\n", "YUV4MPEG2 W1\n", "YUV4MPEG2 W0 H1\n", "YUV4MPEG2 W-1 H1\n", "YUV4MPEG2 W1 H99999999\n",
		"YUV4MPEG2 W1 H1 F5\n", "YUV4MPEG2 W1 H1 F5:x\n", "YUV4MPEG2 W1 H1 I\n", "YUV4MPEG2 W1 H1 X" + strings.Repeat("y", MaxHeader) + "\n",
	} {
		if h, err := ParseHeader([]byte(bad)); !errors.Is(err, ErrHeader) {
			t.Errorf("%.40q: %+v, %v", bad, h, err)
		}
	}
}

func TestEncoding(t *testing.T) {
	for chroma, want := range map[string]frame.Encoding{
		"420": frame.NV12, "420jpeg": frame.NV12, "420mpeg2": frame.NV12, "420paldv": frame.NV12, "422": frame.YUV422YUY2, "mono": frame.Mono8,
		"444": "", "444alpha": "", "420p10": "", "mono16": "", "411": "", "": "",
	} {
		e, err := Header{Chroma: chroma}.Encoding()
		if e != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, ErrChroma) {
			t.Errorf("%q: %q, %v; want %q", chroma, e, err, want)
		}
	}
}

// ffmpeg runs the program and returns what it wrote.
func ffmpeg(t *testing.T, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("ffmpeg is missing")
		}
		t.Skip("ffmpeg is missing")
	}
	cmd := exec.Command(path, append([]string{"-v", "error", "-nostdin"}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ffmpeg %v: %v: %s", args, err, errs.String())
	}
	return out
}

// planar turns a frame back into the planes that it was made of.
func planar(g frame.Geometry, data []byte) []byte {
	var y, u, v []byte
	w, h := g.Width, g.Height
	switch g.Encoding {
	case frame.Mono8:
		return data
	case frame.NV12:
		for r := range h {
			y = append(y, data[r*g.Step:r*g.Step+w]...)
		}
		p := g.Plane(1)
		for r := range p.Rows {
			for x := 0; x < p.RowBytes; x += 2 {
				u, v = append(u, data[p.Offset+r*g.Step+x]), append(v, data[p.Offset+r*g.Step+x+1])
			}
		}
	case frame.YUV422YUY2:
		for r := range h {
			row := data[r*g.Step:]
			for x := range w {
				y = append(y, row[2*x])
			}
			for x := 0; x < w; x += 2 {
				u, v = append(u, row[2*x+1]), append(v, row[2*x+3])
			}
		}
	}
	return append(append(y, u...), v...)
}

func TestFramesAreThoseOfFFmpeg(t *testing.T) {
	for _, c := range []struct {
		format, size string
		copied       string // which bytes were not read in place
	}{
		{"yuv420p", "64x48", "chroma"},
		{"yuv420p", "63x47", "chroma"},
		{"yuv420p", "1x1", "chroma"},
		{"yuv420p", "1366x768", "chroma"},
		{"yuvj420p", "64x48", "chroma"},
		{"yuv422p", "64x48", "all"},
		{"yuv422p", "63x47", "all"},
		{"yuv422p", "1x3", "all"},
		{"gray", "63x47", "none"},
	} {
		t.Run(c.format+" "+c.size, func(t *testing.T) {
			const n = 3
			file := ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=320x240:r=5", "-vf", "scale="+strings.Replace(c.size, "x", ":", 1)+",format="+c.format,
				"-frames:v", fmt.Sprint(n), "-strict", "-1", "-f", "yuv4mpegpipe", "pipe:1")
			in := t.TempDir() + "/in.y4m"
			if err := os.WriteFile(in, file, 0o600); err != nil {
				t.Fatal(err)
			}
			raw := ffmpeg(t, "-i", in, "-f", "rawvideo", "-pix_fmt", c.format, "pipe:1")
			r, err := NewReader(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			if r.FrameBytes() != len(raw)/n || (c.format == "yuvj420p" || c.format == "gray") != (r.Header.Range == frame.Full) {
				t.Fatalf("frames of %d bytes, want %d; %+v", r.FrameBytes(), len(raw)/n, r.Header)
			}
			for pass := range 2 {
				for i := range n {
					dst := make([]byte, r.Geometry.Size())
					copied, err := r.Next(dst)
					if err != nil {
						t.Fatalf("pass %d, frame %d: %v", pass, i, err)
					}
					if !bytes.Equal(planar(r.Geometry, dst), raw[i*r.FrameBytes():(i+1)*r.FrameBytes()]) {
						t.Errorf("pass %d, frame %d is not that of ffmpeg", pass, i)
					}
					want := map[string]int{"none": 0, "all": r.FrameBytes(), "chroma": r.FrameBytes() - r.Header.Width*r.Header.Height}[c.copied]
					if copied != want {
						t.Errorf("%d bytes copied, want %d", copied, want)
					}
				}
				if _, err := r.Next(make([]byte, r.Geometry.Size())); err != io.EOF {
					t.Fatalf("after the end: %v", err)
				}
				r.Rewind()
			}
		})
	}
}

func TestSkip(t *testing.T) {
	file := "YUV4MPEG2 W2 H1 Cmono\nFRAME\nabFRAME Ip\ncdFRAME\ne"
	r, err := NewReader(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(nil); err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, 2)
	if _, err := r.Next(dst); err != nil || string(dst) != "cd" {
		t.Fatalf("%q, %v", dst, err)
	}
	if _, err := r.Next(nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("skipping half a frame: %v", err)
	}
}

func TestCut(t *testing.T) {
	whole := "YUV4MPEG2 W3 H3 C420\nFRAME\n" + strings.Repeat("y", 9) + "uuuuvvvvFRAME Xa\n" + strings.Repeat("y", 9) + "uuuuvvvv"
	first := len("YUV4MPEG2 W3 H3 C420\nFRAME\n") + 17
	for n := first; n <= len(whole); n++ {
		r, err := NewReader(strings.NewReader(whole[:n]))
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]byte, r.Geometry.Size())
		if _, err := r.Next(dst); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		_, err = r.Next(dst)
		var cut *CutError
		switch {
		case n == first && err == io.EOF, n == len(whole) && err == nil:
		case n > first && n < len(whole) && errors.As(err, &cut) && cut.Want == 17 && cut.Have < 17 && errors.Is(err, io.ErrUnexpectedEOF):
		default:
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	for _, bad := range []string{"XRAME\nab", "FRAMEX\nab", "FRAME " + strings.Repeat("x", MaxHeader) + "\nab"} {
		r, err := NewReader(strings.NewReader("YUV4MPEG2 W2 H1 Cmono\n" + bad))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(make([]byte, 2)); !errors.Is(err, ErrHeader) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("YUV4MPEG2 W3 H3 F30:1 Ip A1:1 C420jpeg XYSCSS=420JPEG XCOLORRANGE=FULL\nFRAME\nyyyyyyyyyuuuuvvvvFRAME Ip\nyyyyyyyyyuuuuvvvv"))
	f.Add([]byte("YUV4MPEG2 W3 H2 C422\nFRAME\nyyyyyyuuuuvvvv"))
	f.Add([]byte("YUV4MPEG2 W3 H2 Cmono\nFRAME\nyyyyyyFRAM"))
	f.Add([]byte("YUV4MPEG2 W65536 H65536\nFRAME\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, err := ParseHeader(data); err != nil || h.Width*h.Height > 1<<20 {
			return
		}
		r, err := NewReader(bytes.NewReader(data))
		if err != nil {
			return
		}
		dst := make([]byte, r.Geometry.Size())
		left := len(data) - r.Header.Bytes
		for {
			copied, err := r.Next(dst)
			if err != nil {
				return
			}
			if copied < 0 || copied > r.FrameBytes() {
				t.Fatalf("%d bytes copied of %d", copied, r.FrameBytes())
			}
			if left -= r.FrameBytes() + len("FRAME\n"); left < 0 {
				t.Fatal("more frames than bytes")
			}
		}
	})
}
