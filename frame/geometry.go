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
// [NewGeometry], [NewGeometryStep] or [NewCompressed]: the zero value is not
// valid. Two geometries are the same layout if they are equal.
type Geometry struct {
	Width    int      `json:"width"`  // pixels
	Height   int      `json:"height"` // pixels
	Encoding Encoding `json:"encoding"`
	Step     int      `json:"step"` // bytes from one row of the first plane to the next; 0 if compressed
	// BigEndian is the byte order of 16-bit samples.
	BigEndian bool `json:"is_bigendian,omitempty"`
	// Bits is how many low bits of a 16-bit sample are used, 9 to 15; 0 = all 16.
	Bits int `json:"bits,omitempty"`
	// Max is the most bytes that a compressed frame takes; 0 if not compressed.
	Max int `json:"max_bytes,omitempty"`
}

// NewGeometry returns the geometry without padding at the end of rows.
func NewGeometry(e Encoding, width, height int) (Geometry, error) {
	return NewGeometryStep(e, width, height, 0)
}

// NewGeometryStep returns the geometry with a given step in bytes; 0 stands
// for the smallest one. It fails with [ErrGeometry] or [ErrEncoding].
func NewGeometryStep(e Encoding, width, height, step int) (Geometry, error) {
	if e.Compressed() {
		return Geometry{}, fmt.Errorf("%w: %s has no rows: say how many bytes a frame takes at most", ErrGeometry, e)
	}
	g := Geometry{Width: width, Height: height, Encoding: e, Step: step}
	if step == 0 && e.Valid() && width > 0 && width <= MaxSide {
		g.Step = g.rowBytes()
	}
	return g, orNone(&g)
}

// NewCompressed returns the geometry of frames that vary in length, of at most
// maxBytes. It fails with [ErrGeometry] or [ErrEncoding].
func NewCompressed(e Encoding, width, height, maxBytes int) (Geometry, error) {
	if e.Valid() && !e.Compressed() {
		return Geometry{}, fmt.Errorf("%w: %s is not compressed", ErrGeometry, e)
	}
	g := Geometry{Width: width, Height: height, Encoding: e, Max: maxBytes}
	return g, orNone(&g)
}

// orNone validates, and clears what is not valid.
func orNone(g *Geometry) error {
	err := g.Validate()
	if err != nil {
		*g = Geometry{}
	}
	return err
}

// Validate checks a geometry that came from outside or was changed by hand. It
// fails with [ErrGeometry] or [ErrEncoding].
func (g Geometry) Validate() error {
	if !g.Encoding.Valid() {
		_, err := ParseEncoding(string(g.Encoding))
		return err
	}
	if g.Width < 1 || g.Height < 1 || g.Width > MaxSide || g.Height > MaxSide {
		return fmt.Errorf("%w: %dx%d: each side must be 1 to %d pixels", ErrGeometry, g.Width, g.Height, MaxSide)
	}
	if !g.Encoding.Wide() && (g.BigEndian || g.Bits != 0) {
		return fmt.Errorf("%w: byte order or bits given for %s, whose samples are not of 16 bits", ErrGeometry, g.Encoding)
	}
	if g.Bits != 0 && (g.Bits < 9 || g.Bits > 15) {
		return fmt.Errorf("%w: %d bits of 16 used: must be 9 to 15, or 0 for all", ErrGeometry, g.Bits)
	}
	if g.Encoding.Compressed() {
		return g.validateCompressed()
	}
	if g.Max != 0 {
		return fmt.Errorf("%w: at most %d bytes: the size of %s is fixed", ErrGeometry, g.Max, g.Encoding)
	}
	if tight := g.rowBytes(); g.Step < tight || g.Step > maxStep {
		return fmt.Errorf("%w: step %d for %d pixels of %s: must be %d to %d bytes", ErrGeometry, g.Step, g.Width, g.Encoding, tight, maxStep)
	}
	if n := g.size64(); n > MaxBytes {
		return fmt.Errorf("%w: %dx%d %s takes %d bytes, at most %d are carried", ErrGeometry, g.Width, g.Height, g.Encoding, n, MaxBytes)
	}
	return nil
}

func (g Geometry) validateCompressed() error {
	if g.Step != 0 {
		return fmt.Errorf("%w: step %d: %s has no rows", ErrGeometry, g.Step, g.Encoding)
	}
	if g.Max < 1 || g.Max > MaxBytes {
		return fmt.Errorf("%w: %s of at most %d bytes: must be 1 to %d", ErrGeometry, g.Encoding, g.Max, MaxBytes)
	}
	return nil
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
	l := layouts[g.Encoding]
	if l.compressed {
		return int64(g.Max)
	}
	n := int64(g.Step) * int64(g.Height)
	if l.chromaPlane {
		n += int64(g.Step) * int64((g.Height+1)/2)
	}
	return n
}

// Size is the number of bytes that a frame may take, padding included: the room
// that a slot must have. For encodings with one plane it is Step*Height, which
// is what sensor_msgs/Image demands; for compressed ones it is Max.
func (g Geometry) Size() int { return int(g.size64()) }

// MinBytes is the fewest bytes of a frame that fits the geometry: Size(), or 1
// for compressed encodings.
func (g Geometry) MinBytes() int {
	if g.Compressed() {
		return 1
	}
	return g.Size()
}

// Extent is the number of bytes up to the end of the last sample: Size() less
// the padding of the last row, which drivers may leave out; for compressed
// encodings it is MinBytes().
func (g Geometry) Extent() int {
	if g.Compressed() {
		return g.MinBytes()
	}
	p := g.Plane(g.PlaneCount() - 1)
	return p.Offset + p.Step*(p.Rows-1) + p.RowBytes
}

// Compressed reports whether frames vary in length and have no rows.
func (g Geometry) Compressed() bool { return g.Encoding.Compressed() }

// SampleBits is how many bits of a sample are used: 8, Bits, or 16; 12 for y12i.
// It is 0 for compressed encodings.
func (g Geometry) SampleBits() int {
	switch {
	case g.Compressed():
		return 0
	case g.Encoding == Y12I:
		return 12
	case !g.Encoding.Wide():
		return 8
	case g.Bits == 0:
		return 16
	}
	return g.Bits
}

// PlaneCount is the number of planes: 2 for nv12, else 1.
func (g Geometry) PlaneCount() int {
	if layouts[g.Encoding].chromaPlane {
		return 2
	}
	return 1
}

// Plane returns plane i, 0 <= i < PlaneCount(). A compressed frame is one row.
func (g Geometry) Plane(i int) Plane {
	l := layouts[g.Encoding]
	if l.compressed {
		return Plane{Step: g.Max, RowBytes: g.Max, Rows: 1}
	}
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
	s := fmt.Sprintf("%dx%d %s", g.Width, g.Height, g.Encoding)
	if g.BigEndian {
		s += " big-endian"
	}
	if g.Bits != 0 {
		s += fmt.Sprintf(" (%d bits)", g.Bits)
	}
	return s
}
