// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/frame"
)

// ffmpegNames are FFmpeg's pixel formats (libavutil/pixdesc).
var ffmpegNames = map[frame.Encoding]string{
	frame.RGB8: "rgb24", frame.BGR8: "bgr24", frame.RGBA8: "rgba", frame.BGRA8: "bgra", frame.Mono8: "gray",
	frame.YUV422YUY2: "yuyv422", frame.YUV422UYVY: "uyvy422", frame.NV12: "nv12", frame.Mono16: "gray16le",
}

// missing skips where a tool cannot be had, and fails in continuous
// integration, where it must be.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// tight leaves the padding out, plane by plane.
func tight(g frame.Geometry, data []byte) []byte {
	var out []byte
	for i := range g.PlaneCount() {
		p := g.Plane(i)
		for y := range p.Rows {
			out = append(out, data[p.Offset+y*p.Step:][:p.RowBytes]...)
		}
	}
	return out
}

// scale has FFmpeg convert a frame. Without these flags swscale itself is
// off by up to 3; neighbor is how chroma is replicated here.
func scale(t *testing.T, src frame.Geometry, from []byte, target frame.Encoding, c frame.Color) []byte {
	t.Helper()
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		missing(t, "ffmpeg is not installed")
	}
	name := ffmpegNames[src.Encoding]
	if src.BigEndian {
		name = "gray16be"
	}
	filter := "scale=flags=neighbor+accurate_rnd+full_chroma_int+full_chroma_inp+bitexact"
	if src.Encoding.YUV() {
		matrix := map[frame.Matrix]string{frame.BT601: "bt601", frame.BT709: "bt709", frame.BT2020: "bt2020"}[c.Matrix]
		span := map[frame.Range]string{frame.Limited: "tv", frame.Full: "pc"}[c.Range]
		filter += fmt.Sprintf(":in_color_matrix=%s:in_range=%s:out_range=pc", matrix, span)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-v", "error", "-nostdin",
		"-f", "rawvideo", "-pix_fmt", name, "-video_size", fmt.Sprintf("%dx%d", src.Width, src.Height), "-i", "-",
		"-vf", filter, "-f", "rawvideo", "-pix_fmt", ffmpegNames[target], "-")
	var out, problem bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(tight(src, from)), &out, &problem
	if err := cmd.Run(); err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, problem.Bytes())
	}
	return out.Bytes()
}

// nominal brings the samples of a 4:2:2 or 4:2:0 frame of limited range into
// what BT.601 allows. Beyond it swscale's integers overflow, and bright blue
// becomes black.
func nominal(g frame.Geometry, data []byte) {
	for i := range data {
		luma := true
		switch g.Encoding {
		case frame.YUV422YUY2:
			luma = i%2 == 0
		case frame.YUV422UYVY:
			luma = i%2 == 1
		case frame.NV12:
			luma = i < g.Plane(1).Offset
		}
		most := 225
		if luma {
			most = 220
		}
		data[i] = byte(16 + int(data[i])%most)
	}
}

// worst is the largest difference, and the mean.
func worst(t *testing.T, got, want []byte) (most int, mean float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d bytes, want %d", len(got), len(want))
	}
	sum := 0
	for i := range got {
		d := int(got[i]) - int(want[i])
		d = max(d, -d)
		sum += d
		most = max(most, d)
	}
	return most, float64(sum) / float64(len(got))
}

func TestAgreesWithFFmpeg(t *testing.T) {
	yuv := []frame.Encoding{frame.YUV422YUY2, frame.YUV422UYVY, frame.NV12}
	for _, e := range yuv {
		for _, m := range []frame.Matrix{frame.BT601, frame.BT709, frame.BT2020} {
			for _, r := range []frame.Range{frame.Limited, frame.Full} {
				t.Run(fmt.Sprint(e, m, r), func(t *testing.T) {
					t.Parallel()
					color := frame.Color{Matrix: m, Range: r}
					src := geometry(t, e, 322, 240, 0)
					from := noise(src, 5)
					if r == frame.Limited {
						nominal(src, from)
					}
					got := run(t, src, geometry(t, frame.RGB8, 322, 240, 0), convert.Options{Color: color}, from)
					want := scale(t, src, from, frame.RGB8, color)
					if most, mean := worst(t, got, want); most > 1 || mean > 0.05 {
						t.Errorf("differs by up to %d, %.4f on average", most, mean)
					}
				})
			}
		}
	}
	for _, tc := range []struct {
		name   string
		src    frame.Geometry
		target frame.Encoding
		color  frame.Color
		most   int
	}{
		// With an odd width swscale stretches its chroma rows over it instead of
		// replicating them; those are held against the definition only.
		{"odd height", geometry(t, frame.YUV422YUY2, 34, 17, 6), frame.BGR8, frame.Color{Matrix: frame.BT601, Range: frame.Full}, 1},
		{"luma, limited", geometry(t, frame.YUV422YUY2, 64, 48, 0), frame.Mono8, frame.Color{Matrix: frame.BT601, Range: frame.Limited}, 1},
		{"luma, full", geometry(t, frame.YUV422UYVY, 64, 48, 0), frame.Mono8, frame.Color{Matrix: frame.BT601, Range: frame.Full}, 0},
		{"rgb to bgra", geometry(t, frame.RGB8, 33, 17, 0), frame.BGRA8, frame.Color{}, 0},
		{"bgra to rgb", geometry(t, frame.BGRA8, 33, 17, 0), frame.RGB8, frame.Color{}, 0},
		{"rgba to bgra", geometry(t, frame.RGBA8, 33, 17, 0), frame.BGRA8, frame.Color{}, 0},
		{"bgr to rgb", geometry(t, frame.BGR8, 33, 17, 0), frame.RGB8, frame.Color{}, 0},
		{"grey to rgb", geometry(t, frame.Mono8, 33, 17, 0), frame.RGB8, frame.Color{}, 0},
		{"rgb to grey", geometry(t, frame.RGB8, 64, 48, 0), frame.Mono8, frame.Color{}, 1},
		{"16 bits to 8", wide(t, frame.Mono16, 64, 48, 0, false, 0), frame.Mono8, frame.Color{}, 1},
		{"16 bits, big-endian", wide(t, frame.Mono16, 64, 48, 0, true, 0), frame.Mono8, frame.Color{}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			from := noise(tc.src, 6)
			want := scale(t, tc.src, from, tc.target, tc.color)
			got := run(t, tc.src, geometry(t, tc.target, tc.src.Width, tc.src.Height, 0), convert.Options{Color: tc.color}, from)
			if most, mean := worst(t, got, want); most > tc.most {
				t.Errorf("differs by up to %d, %.4f on average, want %d", most, mean, tc.most)
			}
		})
	}
}
