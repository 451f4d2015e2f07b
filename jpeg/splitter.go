// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package jpeg

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Splitter takes a stream of concatenated JPEGs apart. It walks from marker to
// marker, skipping segments by their length, so that pictures within pictures
// (thumbnails) do not end a frame. What is damaged is handed out too, with the
// reason, and the next frame is looked for behind it: every byte of the stream
// but zeros between frames comes out once.
type Splitter struct {
	r     io.Reader
	most  int
	buf   []byte // what was read and not handed out yet
	begin int    // in buf: the frame that is being looked at
	ended error  // of r
}

// NewSplitter reads frames of at most maxBytes from r.
func NewSplitter(r io.Reader, maxBytes int) *Splitter {
	return &Splitter{r: r, most: max(maxBytes, 4)}
}

// Next returns the next frame, which is valid until the following call. With
// ErrTruncated, ErrCorrupt, ErrTooBig or ErrNotJPEG it returns the bytes that are
// no good frame, and can be called again. The end of the stream is io.EOF; other
// errors are the reader's.
func (s *Splitter) Next() ([]byte, error) {
	n, err := s.seek()
	if err == nil {
		n, err = s.measure()
	}
	return s.take(n), err
}

// take hands n bytes out.
func (s *Splitter) take(n int) []byte {
	out := s.buf[s.begin : s.begin+n : s.begin+n]
	s.begin += n
	return out
}

// rest is what was read behind the beginning of the frame.
func (s *Splitter) rest() []byte { return s.buf[s.begin:] }

// chunk is how much is read at once, in bytes.
const chunk = 64 << 10

// more reads on. It fails with the reader's error, or io.EOF.
func (s *Splitter) more() error {
	if s.ended != nil {
		return s.ended
	}
	if s.begin > 0 && len(s.buf)+chunk > cap(s.buf) {
		s.buf = s.buf[:copy(s.buf, s.rest())]
		s.begin = 0
	}
	if len(s.buf)+chunk > cap(s.buf) {
		bigger := make([]byte, len(s.buf), 2*cap(s.buf)+2*chunk)
		copy(bigger, s.buf)
		s.buf = bigger
	}
	const patience = 100 // reads without bytes, as in bufio
	for range patience {
		n, err := s.r.Read(s.buf[len(s.buf) : len(s.buf)+chunk])
		s.buf = s.buf[:len(s.buf)+max(n, 0)]
		if err != nil {
			s.ended = err
		}
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	s.ended = io.ErrNoProgress
	return s.ended
}

// seek brings begin to the next frame, past zeros. If there is anything else it
// returns its length and ErrNotJPEG.
func (s *Splitter) seek() (n int, err error) {
	from := 0
	for {
		rest := s.rest()
		if from == 0 {
			zeros := 0
			for zeros < len(rest) && rest[zeros] == 0 {
				zeros++
			}
			s.begin += zeros
			rest = rest[zeros:]
		}
		if i := bytes.Index(rest[from:], start()); i >= 0 {
			n = from + i
			break
		}
		// The last two bytes may be the first of a beginning.
		from = max(len(rest)-2, 0)
		if from >= s.most {
			n = from
			break
		}
		if err := s.more(); err != nil {
			n = len(s.rest())
			if n == 0 || !errors.Is(err, io.EOF) {
				return 0, err
			}
			break
		}
	}
	if n > 0 {
		return n, fmt.Errorf("%w: %d bytes before a marker SOI", ErrNotJPEG, n)
	}
	return 0, nil
}

// measure finds the end of the frame that begins at begin. n is the bytes to
// hand out, whatever the error.
func (s *Splitter) measure() (n int, err error) {
	p := 2
	for {
		if p > s.most {
			return s.resync(s.tooBig())
		}
		// Four bytes are a marker and its length. A frame that is over must not
		// wait for the next one.
		for len(s.rest()) < p+4 && !bytes.HasPrefix(s.rest()[min(p, len(s.rest())):], []byte{0xff, markerEOI}) {
			if n, err := s.grow(p, "within its headers"); err != nil {
				return n, err
			}
		}
		rest := s.rest()
		if rest[p] != 0xff {
			return s.resync(at(ErrCorrupt, p, "0x%02x where a marker must be", rest[p]))
		}
		switch m := rest[p+1]; {
		case m == 0xff:
			p++
		case m == markerEOI:
			if p+2 > s.most {
				return s.resync(s.tooBig())
			}
			return p + 2, nil
		case m == markerSOI:
			return p, at(ErrTruncated, p, "the next picture begins")
		case m == markerTEM:
			p += 2
		case !hasLength(m):
			return s.resync(at(ErrCorrupt, p, "marker 0x%02x outside of a scan", m))
		default:
			p += 2 + int(rest[p+2])<<8 + int(rest[p+3])
			if m != markerSOS {
				continue
			}
			for {
				end, ok := scanEnd(s.rest(), min(p, len(s.rest())))
				p = max(p, end)
				if ok {
					break
				}
				if n, err := s.grow(p, "within the picture"); err != nil {
					return n, err
				}
			}
		}
	}
}

// grow reads on, because the frame goes on at p. When it fails, n bytes are to
// be handed out for the error.
func (s *Splitter) grow(p int, where string) (n int, err error) {
	if p > s.most {
		return s.resync(s.tooBig())
	}
	err = s.more()
	if err == nil {
		return 0, nil
	}
	if errors.Is(err, io.EOF) {
		// It may have been a wrong length that led to the end.
		return s.resync(at(ErrTruncated, len(s.rest()), "the stream ends %s", where))
	}
	return 0, err
}

func (s *Splitter) tooBig() error {
	return fmt.Errorf("%w: no end within %d bytes", ErrTooBig, s.most)
}

// resync ends a damaged frame where the next one seems to begin.
func (s *Splitter) resync(damage error) (int, error) {
	const after = 2 // its own SOI
	from := after
	for {
		rest := s.rest()
		if i := bytes.Index(rest[min(from, len(rest)):], start()); i >= 0 {
			return min(from, len(rest)) + i, damage
		}
		from = max(len(rest)-2, after)
		if from > s.most {
			return from, damage
		}
		if err := s.more(); err != nil {
			if errors.Is(err, io.EOF) {
				return len(s.rest()), damage
			}
			return 0, err
		}
	}
}
