// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package y4m reads YUV4MPEG2 files, the uncompressed video of mjpegtools
// (yuv4mpeg(5)), straight into frames. What camd has no encoding for is left to
// others.
package y4m

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-3c7e7623/camd/frame"
)

// Magic begins a file.
const Magic = "YUV4MPEG2 "

// MaxHeader bounds the first line and the line before each frame, in bytes.
const MaxHeader = 1024

var (
	// ErrHeader: the lines of text in the file make no sense.
	ErrHeader = errors.New("damaged YUV4MPEG2 header")
	// ErrChroma: no encoding of camd holds such pixels as they are.
	ErrChroma = errors.New("pixels that camd has no encoding for")
)

// Header is the first line of a file.
type Header struct {
	Width, Height    int // pixels
	RateNum, RateDen int // frames per second as a fraction; 0 = not said
	// Interlace is p, t, b or m; ? = not said.
	Interlace byte
	Chroma    string // "420jpeg", "422", "mono" ...; 420jpeg where the file says nothing
	Range     frame.Range
	Bytes     int // of the line, its end included
}

// Rate is in frames per second; 0 = not said.
func (h Header) Rate() float64 {
	if h.RateNum <= 0 || h.RateDen <= 0 {
		return 0
	}
	return float64(h.RateNum) / float64(h.RateDen)
}

// ParseHeader reads the first line from the beginning of a file, of which
// [MaxHeader] bytes are enough.
func ParseHeader(data []byte) (Header, error) {
	data = data[:min(len(data), MaxHeader)]
	end := bytes.IndexByte(data, '\n')
	if !bytes.HasPrefix(data, []byte(Magic)) || end < 0 {
		return Header{}, fmt.Errorf("%w: no line that begins with %q within %d bytes", ErrHeader, strings.TrimSpace(Magic), MaxHeader)
	}
	h := Header{Interlace: '?', Chroma: "420jpeg", Bytes: end + 1}
	for _, word := range strings.Fields(string(data[len(Magic):end])) {
		if err := h.word(word[0], word[1:]); err != nil {
			return Header{}, fmt.Errorf("%w: %q: %w", ErrHeader, word, err)
		}
	}
	if h.Width == 0 || h.Height == 0 {
		return Header{}, fmt.Errorf("%w: no size", ErrHeader)
	}
	return h, nil
}

// word reads one parameter. Those that are not known are left alone, as the
// format demands.
func (h *Header) word(tag byte, text string) (err error) {
	switch tag {
	case 'W':
		h.Width, err = side(text)
	case 'H':
		h.Height, err = side(text)
	case 'F':
		h.RateNum, h.RateDen, err = fraction(text)
	case 'I':
		if len(text) != 1 {
			return errors.New("want one letter")
		}
		h.Interlace = text[0]
	case 'C':
		h.Chroma = text
	case 'X':
		switch text {
		case "COLORRANGE=FULL":
			h.Range = frame.Full
		case "COLORRANGE=LIMITED":
			h.Range = frame.Limited
		}
	}
	return err
}

func side(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n < 1 || n > frame.MaxSide {
		return 0, fmt.Errorf("want 1 to %d pixels", frame.MaxSide)
	}
	return int(n), nil
}

func fraction(text string) (num, den int, err error) {
	a, b, ok := strings.Cut(text, ":")
	n, errN := strconv.ParseUint(a, 10, 31)
	d, errD := strconv.ParseUint(b, 10, 31)
	if !ok || errN != nil || errD != nil {
		return 0, 0, errors.New("want frames:seconds")
	}
	return int(n), int(d), nil
}

// Encoding is what the frames become: nv12 for 4:2:0 of any siting,
// yuv422_yuy2 for 4:2:2, mono8 for grey; the samples stay as they are. Other
// pixels are [ErrChroma].
func (h Header) Encoding() (frame.Encoding, error) {
	switch h.Chroma {
	case "420", "420jpeg", "420mpeg2", "420paldv":
		return frame.NV12, nil
	case "422":
		return frame.YUV422YUY2, nil
	case "mono":
		return frame.Mono8, nil
	}
	return "", fmt.Errorf("%w: C%.32s", ErrChroma, h.Chroma)
}
