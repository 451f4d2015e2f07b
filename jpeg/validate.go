// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package jpeg

import (
	"bytes"
	"encoding/binary"

	"github.com/seed-3c7e7623/camd/frame"
)

// Limits bound what is accepted before anything is decoded. Zeros stand for the
// defaults.
type Limits struct {
	Width, Height int // pixels; default frame.MaxSide
	Pixels        int // default 1<<26, a picture of 8192x8192
}

func (l Limits) orDefault() Limits {
	if l.Width == 0 {
		l.Width = frame.MaxSide
	}
	if l.Height == 0 {
		l.Height = frame.MaxSide
	}
	if l.Pixels == 0 {
		l.Pixels = 1 << 26
	}
	return l
}

// Info is what the headers of a frame say.
type Info struct {
	Width, Height int // pixels
	Components    int // 1 = grey, 3 = colour
	Progressive   bool
	Scans         int
	// NeedsTables: Huffman tables are missing, and the standard ones are meant
	// (motion JPEG of USB cameras). See [InsertTables].
	NeedsTables bool
	// Length is the bytes up to the end of EOI; what follows is padding.
	Length int
}

// Validate walks the markers of one frame from SOI to EOI, without decoding. It
// fails with ErrNotJPEG, ErrTruncated, ErrCorrupt, ErrTooBig, ErrNoTables or
// ErrUnsupported. Damage within the coded data that leaves the markers whole is
// found only by a decoder, and not always by that.
func Validate(data []byte, l Limits) (Info, error) {
	w := walker{data: data, limits: l.orDefault()}
	err := w.walk()
	return w.info, err
}

type component struct{ id, quantTable byte }

// walker is one walk over a frame.
type walker struct {
	data   []byte
	limits Limits
	info   Info

	components [3]component
	quant      [4]bool    // tables that were defined
	huffman    [2][4]bool // DC, AC
	interval   int        // of restart markers; 0 = none
}

func (w *walker) walk() error {
	data := w.data
	if len(data) < 2 || data[0] != 0xff || data[1] != markerSOI {
		return at(ErrNotJPEG, 0, "no marker SOI in %d bytes", len(data))
	}
	p := 2
	for {
		if p+2 > len(data) {
			return at(ErrTruncated, p, "no marker EOI")
		}
		if data[p] != 0xff {
			return at(ErrCorrupt, p, "0x%02x where a marker must be", data[p])
		}
		m := data[p+1]
		if m == 0xff { // a fill byte
			p++
			continue
		}
		switch {
		case m == markerEOI:
			if w.info.Scans == 0 {
				return at(ErrCorrupt, p, "ends without a picture")
			}
			w.info.Length = p + 2
			return nil
		case m == markerSOI:
			return at(ErrTruncated, p, "the next picture begins")
		case m == markerTEM:
			p += 2
			continue
		case !hasLength(m):
			return at(ErrCorrupt, p, "marker 0x%02x outside of a scan", m)
		}
		if p+4 > len(data) {
			return at(ErrTruncated, p, "within a segment")
		}
		n := int(binary.BigEndian.Uint16(data[p+2:]))
		if n < 2 {
			return at(ErrCorrupt, p, "segment 0x%02x of %d bytes", m, n)
		}
		if p+2+n > len(data) {
			return at(ErrTruncated, p, "within a segment of %d bytes", n)
		}
		if err := w.segment(m, data[p+4:p+2+n], p); err != nil {
			return err
		}
		p += 2 + n
		if m == markerSOS {
			end, ok := scanEnd(data, p)
			if !ok {
				return at(ErrTruncated, end, "within the picture")
			}
			if err := w.restarts(data[p:end], p); err != nil {
				return err
			}
			p = end
		}
	}
}

func (w *walker) segment(m byte, body []byte, offset int) error {
	switch {
	case isSOF(m):
		return w.frameHeader(m, body, offset)
	case m == markerDQT:
		return w.quantTables(body, offset)
	case m == markerDHT:
		return w.huffmanTables(body, offset)
	case m == markerDAC:
		return at(ErrUnsupported, offset, "arithmetic coding")
	case m == markerDNL:
		return at(ErrUnsupported, offset, "number of lines after the picture")
	case m == markerDRI:
		if len(body) != 2 {
			return at(ErrCorrupt, offset, "restart interval of %d bytes", len(body))
		}
		w.interval = int(binary.BigEndian.Uint16(body))
	case m == markerSOS:
		return w.scanHeader(body, offset)
	}
	return nil
}

// frameHeader reads SOFn (T.81 B.2.2).
func (w *walker) frameHeader(m byte, body []byte, offset int) error {
	switch {
	case w.info.Components != 0:
		return at(ErrCorrupt, offset, "a second frame header")
	case m != markerSOF0 && m != markerSOF1 && m != markerSOF2:
		return at(ErrUnsupported, offset, "coding process 0x%02x", m)
	case len(body) < 6:
		return at(ErrCorrupt, offset, "frame header of %d bytes", len(body))
	}
	height, width := int(binary.BigEndian.Uint16(body[1:])), int(binary.BigEndian.Uint16(body[3:]))
	count := int(body[5])
	switch {
	case body[0] != 8:
		return at(ErrUnsupported, offset, "%d bits a sample", body[0])
	case width == 0 || height == 0:
		return at(ErrCorrupt, offset, "a picture of %dx%d", width, height)
	case width > w.limits.Width || height > w.limits.Height || width*height > w.limits.Pixels:
		return at(ErrTooBig, offset, "%dx%d, at most %dx%d and %d pixels are allowed", width, height, w.limits.Width, w.limits.Height, w.limits.Pixels)
	case count != 1 && count != 3:
		return at(ErrUnsupported, offset, "%d components", count)
	case len(body) != 6+3*count:
		return at(ErrCorrupt, offset, "frame header of %d bytes for %d components", len(body), count)
	}
	for i := range count {
		c := body[6+3*i : 9+3*i]
		if h, v := c[1]>>4, c[1]&15; h < 1 || h > 4 || v < 1 || v > 4 || c[2] > 3 {
			return at(ErrCorrupt, offset, "component %d: sampling %dx%d, table %d", i, h, v, c[2])
		}
		w.components[i] = component{c[0], c[2]}
	}
	w.info.Width, w.info.Height, w.info.Components = width, height, count
	w.info.Progressive = m == markerSOF2
	return nil
}

// quantTables reads DQT (T.81 B.2.4.1).
func (w *walker) quantTables(body []byte, offset int) error {
	for len(body) > 0 {
		precision, id := int(body[0]>>4), body[0]&15
		n := 1 + 64*(precision+1)
		if precision > 1 || id > 3 || len(body) < n {
			return at(ErrCorrupt, offset, "quantisation table %d of precision %d", id, precision)
		}
		w.quant[id] = true
		body = body[n:]
	}
	return nil
}

// huffmanTables reads DHT (T.81 B.2.4.2).
func (w *walker) huffmanTables(body []byte, offset int) error {
	for len(body) > 0 {
		class, id := body[0]>>4, body[0]&15
		if len(body) < 17 || class > 1 || id > 3 {
			return at(ErrCorrupt, offset, "Huffman table %d of class %d", id, class)
		}
		values, code, fits := 0, 0, true
		for i, n := range body[1:17] {
			values += int(n)
			code += int(n)
			fits = fits && code <= 2<<i // there are 2^(i+1) codes of i+1 bits
			code *= 2
		}
		if !fits || values > 256 || len(body) < 17+values {
			return at(ErrCorrupt, offset, "Huffman table of %d values in %d bytes", values, len(body))
		}
		w.huffman[class][id] = true
		body = body[17+values:]
	}
	return nil
}

// scanHeader reads SOS (T.81 B.2.3) and looks whether what it uses is there.
func (w *walker) scanHeader(body []byte, offset int) error {
	if w.info.Components == 0 {
		return at(ErrCorrupt, offset, "a scan before the frame header")
	}
	if len(body) < 1 || body[0] < 1 || int(body[0]) > w.info.Components || len(body) != 4+2*int(body[0]) {
		return at(ErrCorrupt, offset, "scan header of %d bytes", len(body))
	}
	spectralStart, approximation := body[len(body)-3], body[len(body)-1]
	for i := range int(body[0]) {
		id, dc, ac := body[1+2*i], body[2+2*i]>>4, body[2+2*i]&15
		c, ok := w.find(id)
		if !ok || dc > 3 || ac > 3 {
			return at(ErrCorrupt, offset, "scan of component %d with tables %d and %d", id, dc, ac)
		}
		if !w.quant[c.quantTable] {
			return at(ErrNoTables, offset, "no quantisation table %d", c.quantTable)
		}
		// Scans of a progressive picture use one of the two tables, or none.
		usesDC := !w.info.Progressive || (spectralStart == 0 && approximation>>4 == 0)
		usesAC := !w.info.Progressive || spectralStart > 0
		for class, use := range [2]struct {
			used bool
			id   byte
		}{{usesDC, dc}, {usesAC, ac}} {
			if !use.used || w.huffman[class][use.id] {
				continue
			}
			if use.id > 1 {
				return at(ErrNoTables, offset, "no Huffman table %d", use.id)
			}
			w.info.NeedsTables = true
		}
	}
	w.info.Scans++
	return nil
}

func (w *walker) find(id byte) (component, bool) {
	for _, c := range w.components[:w.info.Components] {
		if c.id == id {
			return c, true
		}
	}
	return component{}, false
}

// restarts checks that the restart markers of a scan count from 0 to 7 again and
// again (T.81 F.1.1.5.2): where one is missing, data was lost.
func (w *walker) restarts(scan []byte, offset int) error {
	next := byte(markerRST0)
	for p := 0; ; p++ {
		i := bytes.IndexByte(scan[p:], 0xff)
		if i < 0 || p+i+1 >= len(scan) {
			return nil
		}
		p += i
		m := scan[p+1]
		if !isRST(m) {
			continue
		}
		if w.interval == 0 || m != next {
			return at(ErrCorrupt, offset+p, "restart marker %d where %d is due", m-markerRST0, next-markerRST0)
		}
		next = markerRST0 + (next+1)&7
	}
}
