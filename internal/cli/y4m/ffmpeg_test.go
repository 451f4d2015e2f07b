// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package y4m_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/cli/y4m"
)

// What FFmpeg calls our encodings, and the pixel format that it must choose for
// the video made of them.
var pixelFormats = map[frame.Encoding]struct{ raw, video string }{
	frame.RGB8:       {"rgb24", "yuv444p"},
	frame.BGR8:       {"bgr24", "yuv444p"},
	frame.RGBA8:      {"rgba", "yuv444p"},
	frame.BGRA8:      {"bgra", "yuv444p"},
	frame.Mono8:      {"gray", "gray"},
	frame.YUV422YUY2: {"yuyv422", "yuv422p"},
	frame.YUV422UYVY: {"uyvy422", "yuv422p"},
	frame.NV12:       {"nv12", "yuv420p"},
}

// decode runs FFmpeg over in and returns its frames twice: in the pixel format
// native, and, the first one only, as a viewer shows it in rgb24.
func decode(t *testing.T, in []byte, native string, input ...string) (samples, shown []byte) {
	t.Helper()
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("ffmpeg is not installed")
	}
	dir := t.TempDir()
	args := append([]string{"-v", "error", "-nostdin"}, input...)
	args = append(args, "-i", "-")
	flags := []string{"-sws_flags", "accurate_rnd+full_chroma_int+full_chroma_inp", "-f", "rawvideo", "-pix_fmt"}
	args = append(append(args, flags...), native, dir+"/samples")
	args = append(append(append(args, flags...), "rgb24", "-frames:v", "1"), dir+"/shown")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin = bytes.NewReader(in)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg %v: %v: %s", args, err, out)
	}
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	return read("samples"), read("shown")
}

// formatOf is the pixel format that FFmpeg chooses by itself for a video.
func formatOf(t *testing.T, video []byte) string {
	t.Helper()
	program, err := exec.LookPath("ffprobe")
	if err != nil {
		t.Skip("ffprobe is not installed")
	}
	cmd := exec.CommandContext(t.Context(), program, "-v", "error", "-show_entries", "stream=pix_fmt,color_range,r_frame_rate", "-of", "csv=p=0", "-")
	cmd.Stdin = bytes.NewReader(video)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ffprobe: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// picture fills a frame with smooth ramps, so that different filters of chroma
// give the same, and the padding with noise.
func picture(g frame.Geometry) []byte {
	data := make([]byte, g.Size())
	for i := range data {
		data[i] = byte(i*131 + 17)
	}
	for n := range g.PlaneCount() {
		p := g.Plane(n)
		for y := range p.Rows {
			row := data[p.Offset+y*p.Step:][:p.RowBytes]
			for i := range row {
				// Neighbouring samples of a pixel take different ranges.
				row[i] = byte(24 + (i*3+y*2+(i%4)*40)%200)
			}
		}
	}
	return data
}

// worst is the largest difference; -1 if the sizes differ.
func worst(a, b []byte) int {
	if len(a) != len(b) {
		return -1
	}
	most := 0
	for i := range a {
		d := int(a[i]) - int(b[i])
		most = max(most, d, -d)
	}
	return most
}

func TestAgainstFFmpeg(t *testing.T) {
	for _, e := range y4m.Encodings() {
		for _, size := range [][3]int{{64, 48, 320}, {33, 17, 0}} {
			width, height, step := size[0], size[1], size[2]
			t.Run(fmt.Sprintf("%s %dx%d step %d", e, width, height, step), func(t *testing.T) {
				t.Parallel()
				g, err := frame.NewGeometryStep(e, width, height, step)
				if err != nil {
					t.Fatal(err)
				}
				data := picture(g)
				video := videoOf(t, g, data, data)
				raw, err := y4m.AppendRaw(nil, data, g)
				if err != nil {
					t.Fatal(err)
				}
				names := pixelFormats[e]
				samples, shown := decode(t, video, names.video, "-f", "yuv4mpegpipe")
				want, wantShown := decode(t, append(raw, raw...), names.video,
					"-f", "rawvideo", "-pix_fmt", names.raw, "-s", fmt.Sprintf("%dx%d", width, height))
				if d := worst(samples, want); d < 0 || d > 1 {
					t.Errorf("samples: %d bytes differ from %d by up to %d", len(samples), len(want), d)
				}
				if d := worst(shown, wantShown); d < 0 || d > 3 {
					t.Errorf("colours: %d bytes differ from %d by up to %d", len(shown), len(wantShown), d)
				}
			})
		}
	}
}

func TestFFmpegReadsTheHeader(t *testing.T) {
	for e, want := range map[frame.Encoding]string{
		frame.BGRA8: "yuv444p,tv,25/1", frame.YUV422YUY2: "yuv422p,tv,25/1", frame.NV12: "yuv420p,tv,25/1", frame.Mono8: "gray,pc,25/1",
	} {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			g, err := frame.NewGeometry(e, 7, 5)
			if err != nil {
				t.Fatal(err)
			}
			if got := formatOf(t, videoOf(t, g, picture(g))); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func videoOf(t *testing.T, g frame.Geometry, frames ...[]byte) []byte {
	t.Helper()
	enc, err := y4m.NewEncoder(g, frame.Color{}, 40_000_000)
	if err != nil {
		t.Fatal(err)
	}
	video := []byte(enc.Header())
	for _, f := range frames {
		if video, err = enc.Append(video, f); err != nil {
			t.Fatal(err)
		}
	}
	return video
}
