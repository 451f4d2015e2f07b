// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package avi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/seed-3c7e7623/camd/frame"
)

// ErrFormat: this is not an AVI file that can be read.
var ErrFormat = errors.New("not a readable AVI file")

// Stream is the video of a file.
type Stream struct {
	Width, Height int     // pixels, as the header says; 0 = it does not
	Rate          float64 // frames per second; 0 = not said
	Frames        uint64  // that the header promises; 0 = not said
	FourCC        string  // of the compression, for example "MJPG"
	Index         int     // number of the stream in the file
}

// Chunk is the data of one frame. Size 0 says that the frame before stays.
type Chunk struct {
	Offset int64 // in the file
	Size   int   // bytes
}

// fourCC names a chunk or the kind of a list.
type fourCC [4]byte

var (
	riff  = fourCC{'R', 'I', 'F', 'F'}
	lists = fourCC{'L', 'I', 'S', 'T'}
	movi  = fourCC{'m', 'o', 'v', 'i'}
)

// Bounds of what a file may say.
const (
	maxChunkBytes = 64 << 20
	maxHeaderList = 1 << 20
	maxStreams    = 100
)

// Reader walks the frames of the first video stream in the order of the file.
// Indexes are not used, so that a file without one is as good. It is used by
// one goroutine.
type Reader struct {
	Stream Stream

	in    io.ReaderAt
	first int64 // of the chunks of movi
	at    int64 // of the next chunk
	head  [12]byte
}

// NewReader reads the headers. It fails with [ErrFormat] or what in says.
func NewReader(in io.ReaderAt) (*Reader, error) {
	r := &Reader{in: in}
	if err := r.open(); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("%w: it ends in its headers", ErrFormat)
		}
		return nil, err
	}
	return r, nil
}

// chunkHead reads the fourcc and the size of a chunk, and the type of a list.
func (r *Reader) chunkHead(at int64) (id fourCC, size int64, list fourCC, err error) {
	n, err := r.in.ReadAt(r.head[:], at)
	if n < 8 {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.EOF
			if n > 0 {
				err = io.ErrUnexpectedEOF
			}
		}
		return id, 0, list, err
	}
	id, size = fourCC(r.head[:4]), int64(binary.LittleEndian.Uint32(r.head[4:8]))
	if id == riff || id == lists {
		if n < 12 {
			return id, 0, list, io.ErrUnexpectedEOF
		}
		list = fourCC(r.head[8:12])
	}
	return id, size, list, nil
}

// padded is the place behind a chunk: they begin at even bytes.
func padded(at, size int64) int64 { return at + 8 + size + size&1 }

func (r *Reader) open() error {
	id, _, kind, err := r.chunkHead(0)
	if err != nil {
		return err
	}
	if id != riff || kind != (fourCC{'A', 'V', 'I', ' '}) {
		return fmt.Errorf("%w: it begins with %q and %q", ErrFormat, id[:], kind[:])
	}
	found := false
	for at := int64(12); ; {
		id, size, kind, err := r.chunkHead(at)
		if err != nil {
			return err
		}
		switch {
		case id == lists && kind == (fourCC{'h', 'd', 'r', 'l'}):
			if found, err = r.headers(at+12, size-4); err != nil {
				return err
			}
		case id == lists && kind == movi:
			if !found {
				return fmt.Errorf("%w: there is no video in it", ErrFormat)
			}
			r.first = at + 12
			r.Rewind()
			return nil
		}
		at = padded(at, size)
	}
}

// headers reads the list hdrl: for each stream a list strl with strh and strf.
func (r *Reader) headers(at, size int64) (bool, error) {
	if size < 0 || size > maxHeaderList {
		return false, fmt.Errorf("%w: headers of %d bytes", ErrFormat, size)
	}
	data := make([]byte, size)
	if n, err := r.in.ReadAt(data, at); n < len(data) {
		if err == nil {
			err = io.EOF
		}
		return false, err
	}
	number, found := 0, false
	walk(data, func(id string, body []byte) bool {
		if id != "LIST" || len(body) < 4 || string(body[:4]) != "strl" {
			return true
		}
		s := Stream{Index: number}
		video := false
		walk(body[4:], func(id string, b []byte) bool {
			switch id {
			case "strh":
				video = s.header(b)
			case "strf":
				s.format(b)
			}
			return true
		})
		if video && !found {
			r.Stream, found = s, true
		}
		number++
		return number < maxStreams
	})
	return found, nil
}

// walk visits the chunks in data until visit returns false.
func walk(data []byte, visit func(id string, body []byte) bool) {
	for len(data) >= 8 {
		size := int(binary.LittleEndian.Uint32(data[4:8]))
		body := data[8:]
		if size > len(body) {
			return
		}
		if !visit(string(data[:4]), body[:size]) {
			return
		}
		data = body[min(size+size&1, len(body)):]
	}
}

// header reads AVISTREAMHEADER (vfw.h) and reports whether it is of a video.
func (s *Stream) header(b []byte) bool {
	if len(b) < 36 || string(b[:4]) != "vids" {
		return false
	}
	s.FourCC = string(b[4:8])
	scale, rate := binary.LittleEndian.Uint32(b[20:]), binary.LittleEndian.Uint32(b[24:])
	if scale > 0 && rate > 0 {
		if f := float64(rate) / float64(scale); f >= 0.001 && f <= 1e6 {
			s.Rate = f
		}
	}
	s.Frames = uint64(binary.LittleEndian.Uint32(b[32:]))
	return true
}

// format reads BITMAPINFOHEADER (wingdi.h), whose compression is the one that
// counts. A negative height is a picture from the top down.
func (s *Stream) format(b []byte) {
	if len(b) < 20 {
		return
	}
	w, h := int64(int32(binary.LittleEndian.Uint32(b[4:]))), int64(int32(binary.LittleEndian.Uint32(b[8:])))
	if h < 0 {
		h = -h
	}
	if w >= 1 && h >= 1 && w <= frame.MaxSide && h <= frame.MaxSide {
		s.Width, s.Height = int(w), int(h)
	}
	s.FourCC = string(b[16:20])
}

// Rewind goes back to the first frame.
func (r *Reader) Rewind() { r.at = r.first }

// Next finds the next frame. The error is io.EOF at the end,
// io.ErrUnexpectedEOF where the file is cut, [ErrFormat] or what the file says.
func (r *Reader) Next() (Chunk, error) {
	for {
		id, size, list, err := r.chunkHead(r.at)
		if err != nil {
			return Chunk{}, err
		}
		switch {
		case id == riff && list == (fourCC{'A', 'V', 'I', 'X'}), id == lists && (list == movi || list == (fourCC{'r', 'e', 'c', ' '})):
			r.at += 12 // what is in it comes next
			continue
		case r.isFrame(id):
			if size > maxChunkBytes {
				return Chunk{}, fmt.Errorf("%w: frame of %d bytes at byte %d", ErrFormat, size, r.at)
			}
			if size > 0 {
				if _, err := r.in.ReadAt(r.head[:1], r.at+8+size-1); err != nil {
					return Chunk{}, io.ErrUnexpectedEOF
				}
			}
			c := Chunk{Offset: r.at + 8, Size: int(size)}
			r.at = padded(r.at, size)
			return c, nil
		case !isFourCC(id):
			return Chunk{}, fmt.Errorf("%w: no chunk at byte %d", ErrFormat, r.at)
		}
		r.at = padded(r.at, size)
	}
}

// isFrame reports whether a chunk is of the stream: its number in two digits
// and dc (compressed) or db (not).
func (r *Reader) isFrame(id fourCC) bool {
	return id[0] == byte('0'+r.Stream.Index/10) && id[1] == byte('0'+r.Stream.Index%10) && id[2] == 'd' && (id[3] == 'c' || id[3] == 'b')
}

func isFourCC(id fourCC) bool {
	for i := range id {
		if id[i] < ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}

// Read reads the data of a chunk into buf, which is grown if need be, and
// returns it.
func (r *Reader) Read(c Chunk, buf []byte) ([]byte, error) {
	if cap(buf) < c.Size {
		buf = make([]byte, c.Size)
	}
	buf = buf[:c.Size]
	if n, err := r.in.ReadAt(buf, c.Offset); n < len(buf) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return buf[:0], err
	}
	return buf, nil
}
