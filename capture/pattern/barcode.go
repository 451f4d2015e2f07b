// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"errors"
	"fmt"

	"github.com/seed-3c7e7623/camd/frame"
)

// The barcode is one row of square cells, white for 1 and black for 0, most
// significant bit first: preamble 10101010, then 88 bits of payload (version
// 4, camera 8, counter 32, capture time 44), then their CRC-16.
const (
	preambleCells = 8
	payloadCells  = 88
	crcCells      = 16
	codeCells     = preambleCells + payloadCells + crcCells

	codeVersion = 1
	codeMargin  = 8 // pixels left of the first cell: room for the frame number
	timeBits    = 44
)

// Code is what one barcode says.
type Code struct {
	Version       uint8  // 4 bits
	Camera        uint8  // the option "camera"
	Counter       uint32 // low 32 bits of the frame number
	CaptureMicros uint64 // low 44 bits of the capture time, CLOCK_MONOTONIC in µs
}

// errNoCode: there is no preamble. errDamagedCode: there is one, but the CRC
// or the version is wrong.
var (
	errNoCode      = errors.New("no barcode")
	errDamagedCode = errors.New("damaged barcode")
)

// cellSize is the side of a cell in pixels: 16, 8, 4 or 2, the largest that
// fits twice one above the other; 0 if none does.
func cellSize(width, height int) int {
	for _, c := range [...]int{16, 8, 4, 2} {
		if codeMargin+codeCells*c <= width && 2*c+2 <= height {
			return c
		}
	}
	return 0
}

// bottomRow is the first pixel row of the lower barcode, always even.
func bottomRow(height, cell int) int { return (height - cell) &^ 1 }

// bits packs the code with its CRC: cell i after the preamble is bit i%8,
// highest first, of byte i/8.
func (c Code) bits() [(payloadCells + crcCells) / 8]byte {
	var b [(payloadCells + crcCells) / 8]byte
	t := c.CaptureMicros & (1<<timeBits - 1)
	// 4 + 8 + 32 = 44 bits, then 44 bits of time.
	head := uint64(c.Version&15)<<40 | uint64(c.Camera)<<32 | uint64(c.Counter)
	b[0] = byte(head >> 36)
	b[1] = byte(head >> 28)
	b[2] = byte(head >> 20)
	b[3] = byte(head >> 12)
	b[4] = byte(head >> 4)
	b[5] = byte(head<<4) | byte(t>>40)
	b[6] = byte(t >> 32)
	b[7] = byte(t >> 24)
	b[8] = byte(t >> 16)
	b[9] = byte(t >> 8)
	b[10] = byte(t)
	crc := crc16(b[:payloadCells/8])
	b[11], b[12] = byte(crc>>8), byte(crc)
	return b
}

func codeOf(b []byte) (Code, error) {
	if crc := crc16(b[:payloadCells/8]); byte(crc>>8) != b[11] || byte(crc) != b[12] {
		return Code{}, errDamagedCode
	}
	c := Code{
		Version:       b[0] >> 4,
		Camera:        b[0]<<4 | b[1]>>4,
		Counter:       uint32(b[1]&15)<<28 | uint32(b[2])<<20 | uint32(b[3])<<12 | uint32(b[4])<<4 | uint32(b[5]>>4),
		CaptureMicros: uint64(b[5]&15)<<40 | uint64(b[6])<<32 | uint64(b[7])<<24 | uint64(b[8])<<16 | uint64(b[9])<<8 | uint64(b[10]),
	}
	if c.Version != codeVersion {
		return Code{}, errDamagedCode
	}
	return c, nil
}

// crc16 is CRC-16/IBM-3740 (polynomial 0x1021, start 0xffff, not reflected).
func crc16(data []byte) uint16 {
	crc := uint16(0xffff)
	for _, b := range data {
		crc ^= uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}

// readCode reads the barcode whose cells begin at pixel row top. Each cell is
// the mean of its middle, held against the mean of the preamble's cells, so
// that it survives lossy compression. data has g.Size() bytes.
func readCode(g frame.Geometry, data []byte, top, cell int) (Code, error) {
	var black, white int
	for i := range preambleCells {
		if i%2 == 0 {
			white += cellLevel(g, data, i, top, cell)
		} else {
			black += cellLevel(g, data, i, top, cell)
		}
	}
	const half = preambleCells / 2
	const leastContrast = 48 // of 219 or 255 levels
	middle := (white + black) / preambleCells
	if white-black < leastContrast*half {
		return Code{}, errNoCode
	}
	for i := range preambleCells {
		if level := cellLevel(g, data, i, top, cell); (level > middle) != (i%2 == 0) {
			return Code{}, errNoCode
		}
	}
	var b [(payloadCells + crcCells) / 8]byte
	for i := range payloadCells + crcCells {
		if cellLevel(g, data, preambleCells+i, top, cell) > middle {
			b[i/8] |= 0x80 >> (i % 8)
		}
	}
	return codeOf(b[:])
}

// cellLevel is the mean brightness, 0 to 255, of the middle of cell i.
func cellLevel(g frame.Geometry, data []byte, i, top, cell int) int {
	side := min(4, max(cell/2, 2))
	x0 := codeMargin + i*cell + (cell-side)/2
	y0 := top + (cell-side)/2
	pixel, offset := lumaAt(g.Encoding)
	sum := 0
	for y := y0; y < y0+side; y++ {
		row := data[y*g.Step:]
		for x := x0; x < x0+side; x++ {
			sum += int(row[x*pixel+offset])
		}
	}
	return sum / (side * side)
}

// lumaAt says where the brightness of a pixel is: the bytes from pixel to
// pixel, and the offset of Y, or of G where there is no Y.
func lumaAt(e frame.Encoding) (pixel, offset int) {
	switch e {
	case frame.RGB8, frame.BGR8:
		return 3, 1
	case frame.RGBA8, frame.BGRA8:
		return 4, 1
	case frame.YUV422YUY2:
		return 2, 0
	case frame.YUV422UYVY:
		return 2, 1
	default:
		return 1, 0
	}
}

// String shows a code in errors.
func (c Code) String() string {
	return fmt.Sprintf("camera %d counter %d time %d µs", c.Camera, c.Counter, c.CaptureMicros)
}
