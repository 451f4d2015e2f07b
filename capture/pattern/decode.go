// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seed-3c7e7623/camd/frame"
)

// What [Decode] and [Verify] find wrong with a frame.
var (
	// ErrTorn: parts of the frame belong to different frames, or were damaged.
	ErrTorn = errors.New("torn frame")
	// ErrNoPattern: the frame does not carry what this package writes.
	ErrNoPattern = errors.New("no test pattern")
)

// numberBytes is the size of the frame number at the start of a row.
const numberBytes = 8

// Info is what [Decode] read. Lossy transport destroys the numbers in the rows,
// while the barcodes survive; the caller knows what to expect.
type Info struct {
	Number    uint64 // at the start of the first row, if HasNumber
	HasNumber bool   // rows are wide enough, and all of them say Number, which is not 0
	Top       Code
	HasTop    bool // the upper barcode is there and undamaged
	Bottom    Code
	HasBottom bool // the same of the lower one
}

// Decode reads barcodes and row numbers of a frame without judging whether they
// agree. It fails with [ErrNoPattern] if it finds none of them, with
// [frame.ErrGeometry] if data is shorter than g says. It does not allocate.
func Decode(g frame.Geometry, data []byte) (Info, error) {
	if err := check(g, data); err != nil {
		return Info{}, err
	}
	var info Info
	n, rows, agree := rowNumbers(g, data)
	info.Number, info.HasNumber = n, rows > 0 && agree == rows && n != 0
	if cell := cellSize(g.Width, g.Height); cell > 0 {
		var err error
		info.Top, err = readCode(g, data, 0, cell)
		info.HasTop = err == nil
		info.Bottom, err = readCode(g, data, bottomRow(g.Height, cell), cell)
		info.HasBottom = err == nil
	}
	if !info.HasNumber && !info.HasTop && !info.HasBottom {
		return Info{}, ErrNoPattern
	}
	return info, nil
}

// Verify checks that a frame of the pattern is whole: every row says the same
// number, and so do the barcodes, where the picture is large enough for them.
// It returns the number. A frame that is in pieces is [ErrTorn]; one that
// nothing in speaks of a pattern is [ErrNoPattern]. It costs one 8-byte read a
// row and two barcodes, and does not allocate unless it fails. Only bytes that
// were not compressed pass.
//
// Whether a frame should carry the pattern is said by [frame.Pattern] in its
// flags: other pictures may look like a torn one.
func Verify(g frame.Geometry, data []byte) (uint64, error) {
	if err := check(g, data); err != nil {
		return 0, err
	}
	number, rows, agree := rowNumbers(g, data)
	cell := cellSize(g.Width, g.Height)
	if cell == 0 {
		switch {
		case rows == 0 || (agree == rows && number == 0):
			return 0, ErrNoPattern
		case agree < rows:
			return 0, fmt.Errorf("%w: %d of %d rows say frame %d, as the first one does", ErrTorn, agree, rows, number)
		}
		return number, nil
	}
	top, topErr := readCode(g, data, 0, cell)
	bottom, bottomErr := readCode(g, data, bottomRow(g.Height, cell), cell)
	bare := errors.Is(topErr, errNoCode) && errors.Is(bottomErr, errNoCode)
	switch {
	case bare && (rows == 0 || number == 0 || agree < rows/8):
		return 0, ErrNoPattern
	case agree < rows:
		return 0, fmt.Errorf("%w: %d of %d rows say frame %d, as the first one does", ErrTorn, agree, rows, number)
	case bare:
		return number, nil // style "rows"
	case topErr != nil:
		return 0, fmt.Errorf("%w: top: %w", ErrTorn, topErr)
	case bottomErr != nil:
		return 0, fmt.Errorf("%w: bottom: %w", ErrTorn, bottomErr)
	case top != bottom:
		return 0, fmt.Errorf("%w: top says %v, bottom %v", ErrTorn, top, bottom)
	case rows == 0:
		return uint64(top.Counter), nil
	case uint32(number) != top.Counter:
		return 0, fmt.Errorf("%w: rows say frame %d, barcodes %d", ErrTorn, number, top.Counter)
	}
	return number, nil
}

// VerifyNumber is [Verify] for a frame whose number is known, for example from
// an earlier look at the same memory: another number is [ErrTorn] too.
func VerifyNumber(g frame.Geometry, data []byte, want uint64) error {
	n, err := Verify(g, data)
	if err != nil {
		return err
	}
	if n != want {
		return fmt.Errorf("%w: it is frame %d now, it was %d", ErrTorn, n, want)
	}
	return nil
}

func check(g frame.Geometry, data []byte) error {
	if err := g.Validate(); err != nil {
		return err
	}
	if !canPaint(g.Encoding) {
		return fmt.Errorf("%w: it is never painted in %s", ErrNoPattern, g.Encoding)
	}
	if len(data) < g.Size() {
		return fmt.Errorf("%w: %v takes %d bytes, there are %d", frame.ErrGeometry, g, g.Size(), len(data))
	}
	return nil
}

// rowNumbers reads the number at the start of every row. It returns the first
// one, how many rows have one, and how many of these say the same as the first.
func rowNumbers(g frame.Geometry, data []byte) (number uint64, rows, agree int) {
	for i := range g.PlaneCount() {
		p := g.Plane(i)
		if p.RowBytes < numberBytes {
			continue
		}
		at := p.Offset
		if rows == 0 {
			number = binary.LittleEndian.Uint64(data[at:])
		}
		for range p.Rows {
			if binary.LittleEndian.Uint64(data[at:]) == number {
				agree++
			}
			at += p.Step
		}
		rows += p.Rows
	}
	return number, rows, agree
}

// writeNumbers writes the number at the start of every row.
func writeNumbers(g frame.Geometry, data []byte, number uint64) {
	for i := range g.PlaneCount() {
		p := g.Plane(i)
		if p.RowBytes < numberBytes {
			continue
		}
		at := p.Offset
		for range p.Rows {
			binary.LittleEndian.PutUint64(data[at:], number)
			at += p.Step
		}
	}
}
