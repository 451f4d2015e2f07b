// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
)

// What the driver says about colours goes with the stream, where it means
// something.
func TestColorOfTheStream(t *testing.T) {
	const rec709, srgb, full = 3, 8, 1
	for _, c := range []struct {
		name   string
		change func(*pixFormat)
		text   string
		want   frame.Color
	}{
		{"as webcams say", func(p *pixFormat) { p.Colorspace = srgb }, "", frame.Color{Matrix: frame.BT601, Range: frame.Limited}},
		{"as grabbers say", func(p *pixFormat) { p.Colorspace, p.Quantization = rec709, full }, "", frame.Color{Matrix: frame.BT709, Range: frame.Full}},
		{"nothing said", func(*pixFormat) {}, "", frame.Color{}},
		{"converted to RGB", func(p *pixFormat) { p.Colorspace = rec709 }, ",encoding=rgb8", frame.Color{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			f.adjust = c.change
			r := start(t, f, newSource(t, f, c.text), 10)
			if got := r.frame(1).Format; got.Color != c.want {
				t.Errorf("%v of %v, want %v", got.Color, got.Geometry, c.want)
			}
			if err := r.end(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
