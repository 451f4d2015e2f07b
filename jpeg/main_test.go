// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package jpeg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	std "image/jpeg"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/dl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// missing skips where a tool cannot be had, and fails in continuous
// integration, where it must be.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// tool runs a program with in as its standard input.
func tool(t testing.TB, in []byte, name string, args ...string) []byte {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		missing(t, "%s is not installed", name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var out, problem bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &problem
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, problem.Bytes())
	}
	return out.Bytes()
}

// scene is a picture with soft parts, edges and colours.
func scene(width, height int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.RGBA{byte(x * 255 / width), byte(y * 255 / height), byte((x + y) * 4), 255}
			if (x/16+y/16)%3 == 0 {
				c.R, c.G = 255-c.R, c.B
			}
			m.SetRGBA(x, y, c)
		}
	}
	return m
}

// sample is a JPEG by Go's encoder: 4:2:0, standard tables.
func sample(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := std.Encode(&b, scene(width, height), &std.Options{Quality: 85}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// ppm is a picture as cjpeg reads it and djpeg writes it.
func ppm(width, height int) []byte {
	out := fmt.Appendf(nil, "P6\n%d %d\n255\n", width, height)
	m := scene(width, height)
	for i := 0; i < len(m.Pix); i += 4 {
		out = append(out, m.Pix[i:i+3]...)
	}
	return out
}

// djpeg decodes with the reference decoder: the integer DCT, smooth chroma.
func djpeg(t testing.TB, data []byte, g frame.Geometry) []byte {
	t.Helper()
	kind := "P6"
	args := []string{"-dct", "int", "-pnm"}
	if g.Encoding == frame.Mono8 {
		kind, args = "P5", append(args, "-grayscale")
	}
	out := tool(t, data, "djpeg", args...)
	header := fmt.Appendf(nil, "%s\n%d %d\n255\n", kind, g.Width, g.Height)
	if !bytes.HasPrefix(out, header) {
		t.Fatalf("djpeg wrote %.40q", out)
	}
	return out[len(header):]
}

// cut removes the segments with a marker from the headers of a frame.
func cut(t testing.TB, data []byte, marker byte) []byte {
	t.Helper()
	out, found := bytes.Clone(data[:2]), false
	for p := 2; p+4 <= len(data); {
		n := 2 + int(data[p+2])<<8 + int(data[p+3])
		if data[p+1] == marker {
			found = true
		} else {
			out = append(out, data[p:p+n]...)
		}
		p += n
		if data[p-n+1] == markerSOS {
			out = append(out, data[p:]...)
			break
		}
	}
	if !found {
		t.Fatalf("no marker 0x%02x to remove", marker)
	}
	return out
}

// find is the place of a marker in the headers of a frame.
func find(t testing.TB, data []byte, marker byte) int {
	t.Helper()
	for p := 2; p+4 <= len(data); p += 2 + int(data[p+2])<<8 + int(data[p+3]) {
		if data[p+1] == marker {
			return p
		}
	}
	t.Fatalf("no marker 0x%02x", marker)
	return 0
}

func geometry(t testing.TB, e frame.Encoding, width, height, pad int) frame.Geometry {
	t.Helper()
	g, err := frame.NewGeometry(e, width, height)
	if err != nil {
		t.Fatal(err)
	}
	g.Step += pad
	return g
}

// decoder opens a backend, or skips where libturbojpeg is missing.
func decoder(t testing.TB, b Backend) *Decoder {
	t.Helper()
	d, err := NewDecoder(b)
	switch {
	case errors.Is(err, dl.ErrBuiltWithoutDL):
		t.Skip(err)
	case err != nil:
		missing(t, "%v", err)
	}
	t.Cleanup(d.Close)
	return d
}
