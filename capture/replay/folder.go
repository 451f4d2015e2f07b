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
	"github.com/seed-3c7e7623/camd/jpeg"
)

// folderReader is the pictures of a folder.
type folderReader struct {
	files    []string
	next     int
	encoding frame.Encoding // "" before the first look, if none was asked for
	decoder  *jpeg.Decoder

	// files[next], once it was looked at: one of these.
	packet []byte      // of a JPEG that the decoder can make into encoding
	img    image.Image // of another picture

	geometry frame.Geometry
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
	if r.decoder, err = jpeg.NewDecoder(jpeg.Auto); err != nil {
		return nil, err
	}
	return &recording{reader: r, format: "pictures", clip: clip{rate: fallbackRate, frames: uint64(len(files))}}, nil
}

// look opens the next picture. One that is damaged, or went away, is left
// behind.
func (r *folderReader) look() (frame.Geometry, error) {
	if r.packet != nil || r.img != nil {
		return r.geometry, nil
	}
	if r.next >= len(r.files) {
		return frame.Geometry{}, io.EOF
	}
	path := r.files[r.next]
	width, height, err := r.open(path)
	if err == nil {
		r.geometry, err = frame.NewGeometry(r.encoding, width, height)
	}
	if err != nil {
		r.forget()
		if jpeg.Reason(err) != "" || errors.Is(err, images.ErrPicture) || errors.Is(err, os.ErrNotExist) || errors.Is(err, frame.ErrGeometry) {
			err = damaged(err)
		}
		return frame.Geometry{}, err
	}
	return r.geometry, nil
}

// open reads a picture so far that its size is known.
func (r *folderReader) open(path string) (width, height int, err error) {
	compressed, err := images.IsJPEG(path)
	if err != nil {
		return 0, 0, err
	}
	if compressed && (r.encoding == "" || slices.Contains(jpeg.Encodings(), r.encoding)) {
		data, err := images.ReadFile(path, maxJPEGBytes)
		if err != nil {
			return 0, 0, err
		}
		info, err := jpeg.Validate(data, jpeg.Limits{})
		if err != nil {
			return 0, 0, images.ErrorAt(path, err)
		}
		if r.encoding == "" {
			r.encoding = frame.BGR8
			if info.Components == 1 {
				r.encoding = frame.Mono8
			}
		}
		r.packet = data
		return info.Width, info.Height, nil
	}
	if r.img, err = images.Decode(path); err != nil {
		return 0, 0, err
	}
	if r.encoding == "" {
		r.encoding = images.Natural(r.img)
	}
	b := r.img.Bounds()
	return b.Dx(), b.Dy(), nil
}

// forget goes on to the next picture.
func (r *folderReader) forget() {
	r.next++
	r.packet, r.img = nil, nil
}

func (r *folderReader) read(dst []byte) (int, error) {
	defer r.forget()
	switch {
	case dst == nil:
		return 0, nil
	case r.img != nil:
		return len(dst), images.Put(dst, r.geometry, r.img)
	}
	return decodeJPEG(r.decoder, dst, r.geometry, r.packet)
}

// decodeJPEG returns how many bytes were copied from memory to memory.
func decodeJPEG(d *jpeg.Decoder, dst []byte, g frame.Geometry, packet []byte) (copied int, err error) {
	if err := d.Decode(dst, g, packet); err != nil {
		if jpeg.Reason(err) != "" {
			err = damaged(err)
		}
		return 0, err
	}
	if d.Backend() == jpeg.Go {
		copied = len(dst) // it decodes into memory of its own
	}
	return copied, nil
}

func (r *folderReader) rewind() error {
	r.next, r.packet, r.img = 0, nil, nil
	return nil
}

func (r *folderReader) Close() error {
	r.decoder.Close()
	return nil
}
