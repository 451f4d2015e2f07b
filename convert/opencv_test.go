// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/frame"
)

const openCV = "4.10.0.84" // of opencv-python-headless

// cvtColor reads one case a line: shape, type, conversion, files.
const cvtColor = `
import sys, numpy, cv2
for line in sys.stdin:
    h, w, c, kind, code, src, dst = line.split()
    shape = (int(h), int(w)) if c == "1" else (int(h), int(w), int(c))
    out = cv2.cvtColor(numpy.fromfile(src, kind).reshape(shape), getattr(cv2, "COLOR_" + code))
    out.tofile(dst)
`

// python returns an interpreter that has OpenCV, in a virtual environment in the
// checkout's cache, made when it is not there.
func python(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, ".cache", "opencv-"+openCV)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		missing(t, "no place for OpenCV: %v", err)
	}
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		missing(t, "no place for OpenCV: %v", err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	program, done := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "complete")
	if _, err := os.Stat(done); err == nil {
		return program
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for _, args := range [][]string{
		{"python3", "-m", "venv", "--clear", dir},
		{program, "-m", "pip", "-q", "install", "--disable-pip-version-check", "--only-binary", ":all:", "numpy<2.3", "opencv-python-headless==" + openCV},
		{program, "-c", "import cv2"},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			missing(t, "OpenCV cannot be had: %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	if err := os.WriteFile(done, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return program
}

type cvCase struct {
	name   string
	src    frame.Geometry
	target frame.Encoding
	code   string // of cv2.cvtColor
	kind   string // numpy's
	// ignore says for which pixels OpenCV is known to differ.
	ignore func(from []byte, x, y int) bool
	most   int
}

func cvCases(t *testing.T) []cvCase {
	const w, h = 64, 48
	at := func(e frame.Encoding) frame.Geometry { return geometry(t, e, w, h, 0) }
	// OpenCV takes Y below 16 for 16 before it adds colour.
	dark := func(e frame.Encoding) func([]byte, int, int) bool {
		return func(from []byte, x, y int) bool { return lumaOf(at(e), from, x, y) < 16 }
	}
	// OpenCV copies the outermost pixels from their neighbours.
	edge := func(_ []byte, x, y int) bool { return x == 0 || y == 0 || x == w-1 || y == h-1 }
	list := []cvCase{
		{"yuyv", at(frame.YUV422YUY2), frame.RGB8, "YUV2RGB_YUY2", "uint8", dark(frame.YUV422YUY2), 1},
		{"uyvy", at(frame.YUV422UYVY), frame.BGR8, "YUV2BGR_UYVY", "uint8", dark(frame.YUV422UYVY), 1},
		{"nv12", at(frame.NV12), frame.BGRA8, "YUV2BGRA_NV12", "uint8", dark(frame.NV12), 1},
		{"rgb to grey", at(frame.RGB8), frame.Mono8, "RGB2GRAY", "uint8", nil, 1},
		{"bgra to grey", at(frame.BGRA8), frame.Mono8, "BGRA2GRAY", "uint8", nil, 1},
		{"bgr to rgba", at(frame.BGR8), frame.RGBA8, "BGR2RGBA", "uint8", nil, 0},
		{"grey to bgr", at(frame.Mono8), frame.BGR8, "GRAY2BGR", "uint8", nil, 0},
	}
	for _, name := range []string{"rggb", "bggr", "gbrg", "grbg"} {
		code := "Bayer" + strings.ToUpper(name) + "2"
		list = append(list,
			cvCase{name + " 8", at(frame.Encoding("bayer_" + name + "8")), frame.BGR8, code + "BGR", "uint8", edge, 0},
			cvCase{name + " 16", at(frame.Encoding("bayer_" + name + "16")), frame.RGB8, code + "RGB", "uint16", edge, 0})
	}
	return list
}

func TestAgreesWithOpenCV(t *testing.T) {
	program := python(t)
	dir := t.TempDir()
	file := func(i int, what string) string { return filepath.Join(dir, fmt.Sprint(i, what)) }
	var lines strings.Builder
	cases := cvCases(t)
	for i, tc := range cases {
		if err := os.WriteFile(file(i, "in"), noise(tc.src, uint64(i)), 0o600); err != nil {
			t.Fatal(err)
		}
		rows, channels := tc.src.Height, tc.src.Encoding.BytesPerPixel()
		switch {
		case tc.src.Encoding == frame.NV12:
			rows = rows * 3 / 2
		case tc.kind == "uint16":
			channels = 1
		}
		fmt.Fprintln(&lines, rows, tc.src.Width, channels, tc.kind, tc.code, file(i, "in"), file(i, "out"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-c", cvtColor)
	cmd.Stdin = strings.NewReader(lines.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("python: %v: %s", err, out)
	}
	for i, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			from := noise(tc.src, uint64(i))
			want, err := os.ReadFile(file(i, "out"))
			if err = errors.Join(err, os.Remove(file(i, "out"))); err != nil {
				t.Fatal(err)
			}
			dst := geometry(t, tc.target, tc.src.Width, tc.src.Height, 0)
			got := run(t, tc.src, dst, convert.Options{}, from)
			n, compared := tc.target.BytesPerPixel(), 0
			for p := range tc.src.Width * tc.src.Height {
				x, y := p%tc.src.Width, p/tc.src.Width
				if tc.ignore != nil && tc.ignore(from, x, y) {
					continue
				}
				compared++
				for c := range n {
					w := 0
					if tc.kind == "uint16" {
						w = int(want[2*(p*n+c)+1])
					} else {
						w = int(want[p*n+c])
					}
					if d := int(got[p*n+c]) - w; max(d, -d) > tc.most {
						t.Fatalf("pixel %d,%d channel %d: got %d, OpenCV %d", x, y, c, got[p*n+c], w)
					}
				}
			}
			if compared < tc.src.Width*tc.src.Height*8/10 {
				t.Errorf("only %d pixels compared", compared)
			}
		})
	}
}
