// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/frame"
)

func TestColorOfTheStream(t *testing.T) {
	for _, c := range []struct {
		name, header, options string
		want                  frame.Color
	}{
		{"full", "C420 XCOLORRANGE=FULL", "", frame.Color{Range: frame.Full}},
		{"limited", "C422 XCOLORRANGE=LIMITED", "", frame.Color{Range: frame.Limited}},
		{"converted among Y'CbCr", "C422 XCOLORRANGE=FULL", ",encoding=yuv422", frame.Color{Range: frame.Full}},
		{"not said", "C420", "", frame.Color{}},
		{"converted to RGB", "C420 XCOLORRANGE=FULL", ",encoding=rgb8", frame.Color{}},
		{"grey", "Cmono XCOLORRANGE=FULL", "", frame.Color{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.y4m")
			file := "YUV4MPEG2 W4 H2 F10:1 " + c.header + "\nFRAME\n" + strings.Repeat("x", 8)
			switch {
			case strings.HasPrefix(c.header, "C420"):
				file += "uuvv"
			case strings.HasPrefix(c.header, "C422"):
				file += "uuuuvvvv"
			}
			if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
			withoutFFmpeg(t)
			seen := 0
			_, err := play(t, esc(path)+c.options+",pace=fast", func(f capturetest.Frame) bool {
				if seen++; f.Format.Color != c.want {
					t.Errorf("%v of %v, want %v", f.Format.Color, f.Format.Geometry, c.want)
				}
				return true
			})
			if seen != 1 {
				t.Errorf("%d frames, want 1: %v", seen, err)
			}
		})
	}
}
