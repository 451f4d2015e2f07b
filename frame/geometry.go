// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"errors"
	"fmt"
)

// Bounds of what a geometry may be. They keep every product of sizes within
// 64-bit integers and every offset within the 32 bits of a slot record.
const (
	MaxSide   = 1 << 16   // pixels
	MaxBytes  = 1<<31 - 1 // bytes of one frame
	MaxPlanes = 4         // planes of one frame
	maxStep   = MaxSide*4 + 1<<16
)

// ErrGeometry reports a size or step that no frame can have.
var ErrGeometry = errors.New("invalid geometry")

// Plane is one rectangle of samples inside a frame.
type Plane struct {
	Offset   int `json:"offset"`    // bytes from the start of the frame
	Step     int `json:"step"`      // bytes from one row to the next (pitch), padding included
	RowBytes int `json:"row_bytes"` // bytes of a row that carry samples; RowBytes <= Step
	Rows     int `json:"rows"`
}

// Geometry is the size and memory layout of a frame. Build it with
// [NewGeometry] or [NewGeometryStep]: the zero value is not valid.
type Geometry struct {
	Width    int      `json:"width"`  // pixels
	Height   int      `json:"height"` // pixels
	Encoding Encoding `json:"encoding"`
	Step     int      `json:"step"` // bytes from one row of the first plane to the next
}

// NewGeometry returns the geometry without padding at the end of rows.
func NewGeometry(e Encoding, width, height int) (Geometry, error) {
	return NewGeometryStep(e, width, height, 0)
}

// NewGeometryStep returns the geometry with a given step in bytes; 0 stands
// for the smallest one. It fails with [ErrGeometry] or [ErrEncoding].
func NewGeometryStep(e Encoding, width, height, step int) (Geometry, error) {
	g := Geometry{Width: width, Height: height, Encoding: e, Step: step}
	if !e.Valid() {
		_, err := ParseEncoding(string(e))
		return Geometry{}, err
	}
	if width < 1 || height < 1 || width > MaxSide || height > MaxSide {
		return Geometry{}, fmt.Errorf("%w: %dx%d: each side must be 1 to %d pixels", ErrGeometry, width, height, MaxSide)
	}
	tight := g.rowBytes()
	if step == 0 {
		g.Step = tight
	}
	if g.Step < tight || g.Step > maxStep {
		return Geometry{}, fmt.Errorf("%w: step %d for %d pixels of %s: must be %d to %d bytes", ErrGeometry, step, width, e, tight, maxStep)
	}
	if n := g.size64(); n > MaxBytes {
		return Geometry{}, fmt.Errorf("%w: %dx%d %s takes %d bytes, at most %d are carried", ErrGeometry, width, height, e, n, MaxBytes)
	}
	return g, nil
}

// Validate checks a geometry that came from outside as [NewGeometryStep] does.
func (g Geometry) Validate() error {
	if g.Step == 0 {
		return fmt.Errorf("%w: step 0", ErrGeometry)
	}
	_, err := NewGeometryStep(g.Encoding, g.Width, g.Height, g.Step)
	return err
}

// rowBytes is the number of bytes of one row that carry samples. Odd widths of
// 4:2:2 and 4:2:0 round up to whole groups.
func (g Geometry) rowBytes() int {
	l := layouts[g.Encoding]
	n := (g.Width + l.group - 1) / l.group * l.groupBytes
	if l.chromaPlane {
		n = (n + 1) &^ 1 // the chroma rows hold pairs and share the step
	}
	return n
}

func (g Geometry) size64() int64 {
	n := int64(g.Step) * int64(g.Height)
	if layouts[g.Encoding].chromaPlane {
		n += int64(g.Step) * int64((g.Height+1)/2)
	}
	return n
}

// Size is the number of bytes of a frame, padding included. For encodings with
// one plane it is Step*Height, which is what sensor_msgs/Image demands.
func (g Geometry) Size() int { return int(g.size64()) }

// PlaneCount is the number of planes: 2 for nv12, else 1.
func (g Geometry) PlaneCount() int {
	if layouts[g.Encoding].chromaPlane {
		return 2
	}
	return 1
}

// Plane returns plane i, 0 <= i < PlaneCount().
func (g Geometry) Plane(i int) Plane {
	l := layouts[g.Encoding]
	p := Plane{Step: g.Step, RowBytes: g.rowBytes(), Rows: g.Height}
	if l.chromaPlane {
		if i == 0 {
			p.RowBytes = g.Width
		} else {
			p.Offset = g.Step * g.Height
			p.Rows = (g.Height + 1) / 2
		}
	}
	return p
}

// String is what logs and tables show, for example "1280x720 bgra8".
func (g Geometry) String() string {
	return fmt.Sprintf("%dx%d %s", g.Width, g.Height, g.Encoding)
}
