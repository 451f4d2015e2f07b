// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/seed-3c7e7623/camd/frame"
)

// Factors are by how much [Downscale] can divide width and height.
func Factors() []int { return []int{2, 4, 8} }

// Downscaler makes frames of one geometry smaller: each sample is the mean of a
// square of samples, rounded to the nearest. Rows and columns that do not fill
// a square are left out, except of chroma, where an odd width or height leaves
// samples that stand for fewer. It is used by one goroutine at a time.
type Downscaler struct {
	src, dst frame.Geometry
	factor   int
	parts    []part
	pixel    int    // bytes of a pixel whose samples are taken together, 3 or 4; else 0 and parts
	sums     []byte // of the bytes of a row over the rows of a square: 16 bits each, little-endian
	spare    int    // place in a row of the luma sample that nobody shows; 0 = none
}

// part is one kind of sample in one plane.
type part struct {
	plane          int
	offset, stride int // of its samples in a row, bytes
	from, to       int // samples in a row of source and destination
}

// Downscale prepares to divide width and height of frames laid out as src by
// factor, one of [Factors]; a remainder is cut off. It fails with
// ErrUnsupported for 16-bit, Bayer, stereo and compressed encodings, whose
// samples have no mean, ErrSize for a frame smaller than the factor, and
// frame.ErrGeometry.
func Downscale(src frame.Geometry, factor int) (*Downscaler, error) {
	if err := src.Validate(); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	if !slices.Contains(Factors(), factor) {
		return nil, fmt.Errorf("%w: to scale down by %d, known are %v", ErrUnsupported, factor, Factors())
	}
	if src.Width < factor || src.Height < factor {
		return nil, fmt.Errorf("%w: %v cannot be scaled down by %d", ErrSize, src, factor)
	}
	d := &Downscaler{src: src, factor: factor, sums: make([]byte, 2*(src.Step+8))}
	switch src.Encoding {
	case frame.RGB8, frame.BGR8, frame.RGBA8, frame.BGRA8:
		d.pixel = src.Encoding.BytesPerPixel()
	default:
		if d.parts = parts(src.Encoding, src.Width, src.Width/factor); d.parts == nil {
			return nil, fmt.Errorf("%w: to scale down %v", ErrUnsupported, src)
		}
	}
	var err error
	if d.dst, err = frame.NewGeometry(src.Encoding, src.Width/factor, src.Height/factor); err != nil {
		return nil, err
	}
	if d.dst.Width&1 == 1 && d.pixel == 0 && d.parts[0].stride == 2 { // pairs, of which the last is a single one
		d.spare = d.parts[0].offset + 2*d.dst.Width
	}
	return d, nil
}

// parts lists the kinds of samples of an encoding, nil if they have no mean.
func parts(e frame.Encoding, from, to int) []part {
	pairsFrom, pairsTo := (from+1)/2, (to+1)/2
	switch e {
	case frame.Mono8:
		return []part{{0, 0, 1, from, to}}
	case frame.YUV422YUY2:
		return []part{{0, 0, 2, from, to}, {0, 1, 4, pairsFrom, pairsTo}, {0, 3, 4, pairsFrom, pairsTo}}
	case frame.YUV422UYVY:
		return []part{{0, 1, 2, from, to}, {0, 0, 4, pairsFrom, pairsTo}, {0, 2, 4, pairsFrom, pairsTo}}
	case frame.NV12:
		return []part{{0, 0, 1, from, to}, {1, 0, 2, pairsFrom, pairsTo}, {1, 1, 2, pairsFrom, pairsTo}}
	}
	return nil
}

// Geometry is the layout of the smaller frames, without padding.
func (d *Downscaler) Geometry() frame.Geometry { return d.dst }

// Scale makes one frame smaller. The slices must not overlap. It fails with
// ErrShort if one of them ends before its geometry's last sample.
func (d *Downscaler) Scale(dst, src []byte) error {
	if n := d.src.Extent(); len(src) < n {
		return fmt.Errorf("%w: source %v takes %d bytes, there are %d", ErrShort, d.src, n, len(src))
	}
	if n := d.dst.Extent(); len(dst) < n {
		return fmt.Errorf("%w: destination %v takes %d bytes, there are %d", ErrShort, d.dst, n, len(dst))
	}
	for plane := range d.dst.PlaneCount() {
		from, to := d.src.Plane(plane), d.dst.Plane(plane)
		for y := range to.Rows {
			rows := min(d.factor, from.Rows-y*d.factor)
			d.sumRows(src[from.Offset+y*d.factor*from.Step:], from.Step, from.RowBytes, rows)
			row := dst[to.Offset+y*to.Step:][:to.RowBytes]
			if d.pixel > 0 {
				d.pixels(row)
			}
			for _, p := range d.parts {
				if p.plane == plane {
					p.means(row, d.sums, d.factor, rows)
				}
			}
			if d.spare > 0 {
				row[d.spare] = row[d.spare-2]
			}
		}
	}
	return nil
}

// Four sums of 16 bits share a word: 64 samples of 255 fit.
const lanes = 0x00ff00ff00ff00ff

// sumRows adds up rows of n bytes, eight columns at a time.
func (d *Downscaler) sumRows(src []byte, step, n, rows int) {
	le := binary.LittleEndian
	x := 0
	for ; x+8 <= n; x += 8 {
		var even, odd uint64
		for y, at := 0, x; y < rows; y, at = y+1, at+step {
			w := le.Uint64(src[at:])
			even += w & lanes
			odd += w >> 8 & lanes
		}
		const lane = 0xffff
		le.PutUint64(d.sums[2*x:], even&lane|odd&lane<<16|even>>16&lane<<32|odd>>16<<48)
		le.PutUint64(d.sums[2*x+8:], even>>32&lane|odd>>32&lane<<16|even>>48<<32|odd>>48<<48)
	}
	for ; x < n; x++ {
		sum := uint16(0)
		for y := range rows {
			sum += uint16(src[y*step+x])
		}
		le.PutUint16(d.sums[2*x:], sum)
	}
}

// shift divides a sum by the samples of a square.
func shift(factor int) int { return 2 * bits.TrailingZeros(uint(factor)) }

// pixels writes a row of pixels, the samples of one at a time.
func (d *Downscaler) pixels(dst []byte) {
	le := binary.LittleEndian
	by := shift(d.factor)
	half := uint64(1) << by >> 1 * 0x0001000100010001
	n, at := 2*d.pixel, 0
	for len(dst) > 0 {
		sum := half
		for range d.factor {
			sum += le.Uint64(d.sums[at:])
			at += n
		}
		sum = sum >> by & lanes
		sum = (sum | sum>>8) & 0x0000ffff0000ffff
		sum |= sum >> 16
		if len(dst) < 4 { // the fourth byte is the next pixel's, which overwrites it
			dst[0], dst[1], dst[2] = byte(sum), byte(sum>>8), byte(sum>>16)
			return
		}
		le.PutUint32(dst, uint32(sum))
		dst = dst[d.pixel:]
	}
}

// means writes the samples of one part of a row. rows is how many rows the sums
// are of.
func (p part) means(dst, sums []byte, factor, rows int) {
	le := binary.LittleEndian
	step := factor * p.stride
	whole := min(p.to, p.from/factor)
	if rows < factor {
		whole = 0
	}
	by := shift(factor)
	half := uint32(1) << by >> 1
	out, at := p.offset, p.offset
	for range whole {
		sum := half
		for i := at; i < at+step; i += p.stride {
			sum += uint32(le.Uint16(sums[2*i:]))
		}
		dst[out] = byte(sum >> by)
		out, at = out+p.stride, at+step
	}
	for x := whole; x < p.to; x++ {
		n := min(factor, p.from-x*factor)
		var sum uint32
		for i := range n {
			sum += uint32(le.Uint16(sums[2*(at+i*p.stride):]))
		}
		count := uint32(n * rows)
		dst[out] = byte((sum + count/2) / count)
		out, at = out+p.stride, at+step
	}
}
