// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cvmat

import (
	"sync"

	"gocv.io/x/gocv"

	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/frame"
)

// converted is BGR by package convert: where OpenCV has no conversion, or one of
// another matrix or range.
func converted(g frame.Geometry, c frame.Color, data []byte, dst *gocv.Mat) error {
	if g.Encoding == frame.NV21 {
		g, data = asNV12(g, data)
	}
	if !g.Encoding.YUV() {
		c = frame.Color{}
	}
	pixels, step, err := create(dst, g.Height, g.Width, gocv.MatTypeCV8UC3)
	if err != nil {
		return err
	}
	to, err := frame.NewGeometryStep(frame.BGR8, g.Width, g.Height, step)
	if err != nil {
		return err
	}
	return kept.convert(job{g, to, c}, pixels, data)
}

// job is what a converter does.
type job struct {
	from, to frame.Geometry
	color    frame.Color
}

// most is how many converters are kept that nobody uses.
const most = 8

// converters are those that have been used and will be again.
type converters struct {
	mu   sync.Mutex
	free []idle // the newest last
}

type idle struct {
	job
	c *convert.Converter
}

var kept converters

func (k *converters) convert(j job, dst, src []byte) error {
	c, err := k.take(j)
	if err != nil {
		return err
	}
	err = c.Convert(dst, src)
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.free) == most {
		k.free = append(k.free[:0], k.free[1:]...)
	}
	k.free = append(k.free, idle{j, c})
	return err
}

func (k *converters) take(j job) (*convert.Converter, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, f := range k.free {
		if f.job == j {
			k.free = append(k.free[:i], k.free[i+1:]...)
			return f.c, nil
		}
	}
	return convert.New(j.from, j.to, convert.Options{Color: j.color})
}

// swapped is a frame of 16-bit samples in the byte order of this machine.
func swapped(g frame.Geometry, data []byte) (frame.Geometry, []byte, error) {
	to := g
	to.BigEndian = false
	out := make([]byte, to.Size())
	return to, out, kept.convert(job{from: g, to: to}, out, data)
}

// asNV12 is a frame of nv21 with its chroma in the other order.
func asNV12(g frame.Geometry, data []byte) (frame.Geometry, []byte) {
	out := append([]byte(nil), data...)
	chroma := g.Plane(1)
	for y := range chroma.Rows {
		row := out[min(len(out), chroma.Offset+y*chroma.Step):]
		row = row[:min(len(row), chroma.RowBytes)]
		for x := 0; x+1 < len(row); x += 2 {
			row[x], row[x+1] = row[x+1], row[x]
		}
	}
	g.Encoding = frame.NV12
	return g, out
}
