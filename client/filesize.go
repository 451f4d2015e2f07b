// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seed-3c7e7623/camd/frame"
)

// errNoPicture: bytes that begin neither as a JPEG nor as a PNG file does.
var errNoPicture = errors.New("no JPEG and no PNG")

const pngHead = "\x89PNG\r\n\x1a\n"

// fileSize tells what picture file b is and how many pixels it has, from its
// head alone: whether the rest is whole shows when it is decoded.
func fileSize(b []byte) (e frame.Encoding, width, height int, err error) {
	switch {
	case len(b) >= len(pngHead) && string(b[:len(pngHead)]) == pngHead:
		width, height, err = pngSize(b)
		return frame.PNG, width, height, err
	case len(b) >= 3 && b[0] == 0xff && b[1] == 0xd8 && b[2] == 0xff:
		width, height, err = jpegSize(b)
		return frame.JPEG, width, height, err
	}
	return "", 0, 0, errNoPicture
}

// pngSize reads the chunk IHDR, which is the first (W3C PNG, section 11.2.1).
func pngSize(b []byte) (width, height int, err error) {
	if len(b) < 24 || string(b[12:16]) != "IHDR" {
		return 0, 0, errors.New("PNG without IHDR at its begin")
	}
	w, h := binary.BigEndian.Uint32(b[16:]), binary.BigEndian.Uint32(b[20:])
	if w > frame.MaxSide || h > frame.MaxSide {
		return 0, 0, fmt.Errorf("%w: PNG of %dx%d", frame.ErrGeometry, w, h)
	}
	return int(w), int(h), nil
}

// jpegSize goes from marker to marker up to the frame header (ITU-T T.81,
// annex B.2.2).
func jpegSize(b []byte) (width, height int, err error) {
	for at := 2; ; {
		for at < len(b) && b[at] == 0xff { // also fill bytes
			at++
		}
		if at >= len(b) || b[at-1] != 0xff {
			break
		}
		marker := b[at]
		at++
		if marker == 0x01 || marker >= 0xd0 && marker <= 0xd8 { // without a length
			continue
		}
		if len(b)-at < 2 || marker == 0xd9 || marker == 0xda {
			break
		}
		n := int(binary.BigEndian.Uint16(b[at:]))
		if n < 2 || n > len(b)-at {
			break
		}
		if marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc {
			if n < 7 {
				break
			}
			return int(binary.BigEndian.Uint16(b[at+5:])), int(binary.BigEndian.Uint16(b[at+3:])), nil
		}
		at += n
	}
	return 0, 0, errors.New("JPEG without a frame header")
}
