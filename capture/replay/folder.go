// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"errors"
	"fmt"
	"image"
	"io"
	"os"
	"slices"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/replay/images"
	"github.com/seed-3c7e7623/camd/frame"
)

// folderReader is the pictures of a folder.
type folderReader struct {
	files    []string
	next     int
	img      image.Image    // files[next], once it was looked at
	encoding frame.Encoding // "" before the first look, if none was asked for
}

func (s *Source) openFolder(dir string) (*recording, error) {
	files, err := images.List(dir)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%w: %s is a directory without pictures (.png, .jpg)", capture.ErrConfig, dir)
	}
	r := &folderReader{files: files}
	if s.asked {
		if !slices.Contains(images.Encodings(), s.encoding) {
			return nil, fmt.Errorf("%w: pictures are made into %s, not %s", capture.ErrFormatRefused, frame.JoinEncodings(images.Encodings()), s.encoding)
		}
		r.encoding = s.encoding
	}
	return &recording{reader: r, format: "pictures", clip: clip{rate: fallbackRate, frames: uint64(len(files))}}, nil
}

// look decodes the next picture. One that is damaged, or went away, is left
// behind.
func (r *folderReader) look() (frame.Geometry, error) {
	if r.next >= len(r.files) {
		return frame.Geometry{}, io.EOF
	}
	if r.img == nil {
		img, err := images.Decode(r.files[r.next])
		if err != nil {
			r.next++
			if errors.Is(err, images.ErrPicture) || errors.Is(err, os.ErrNotExist) {
				err = fmt.Errorf("%w: %w", errDamaged, err)
			}
			return frame.Geometry{}, err
		}
		r.img = img
	}
	if r.encoding == "" {
		r.encoding = images.Natural(r.img)
	}
	b := r.img.Bounds()
	return frame.NewGeometry(r.encoding, b.Dx(), b.Dy())
}

func (r *folderReader) read(dst []byte) (int, error) {
	img := r.img
	r.img = nil
	r.next++
	if dst == nil {
		return 0, nil
	}
	g, err := frame.NewGeometry(r.encoding, img.Bounds().Dx(), img.Bounds().Dy())
	if err != nil {
		return 0, err
	}
	return len(dst), images.Put(dst, g, img)
}

func (r *folderReader) rewind() error {
	r.next, r.img = 0, nil
	return nil
}

func (r *folderReader) Close() error { return nil }
