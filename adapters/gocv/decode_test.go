// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cvmat_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/jpeg"
	"testing"

	"gocv.io/x/gocv"

	cvmat "github.com/seed-3c7e7623/camd/adapters/gocv"
	"github.com/seed-3c7e7623/camd/frame"
)

// pngOf is a PNG of a head alone.
func pngOf(width, height uint32) []byte {
	head := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	head = append(binary.BigEndian.AppendUint32(head, height), 8, 2, 0, 0, 0)
	file := binary.BigEndian.AppendUint32([]byte("\x89PNG\r\n\x1a\n"), 13)
	return binary.BigEndian.AppendUint32(append(file, head...), crc32.ChecksumIEEE(head))
}

// jpegOf is a JPEG that says it has another size.
func jpegOf(t testing.TB, width, height uint16) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b.Bytes(), []byte{0xff, 0xc0}) + 5
	binary.BigEndian.PutUint16(b.Bytes()[at:], height)
	binary.BigEndian.PutUint16(b.Bytes()[at+2:], width)
	return b.Bytes()
}

// Files of others are an error at worst: OpenCV throws at a head that claims more
// than 2^30 pixels, and sets memory aside for one that claims fewer.
func TestHostileFiles(t *testing.T) {
	dst := gocv.NewMat()
	defer dst.Close()
	for _, tc := range []struct {
		what          string
		e             frame.Encoding
		width, height int // what the head said to who made the frame
		file          []byte
	}{
		{"PNG of 2^32 pixels", frame.PNG, frame.MaxSide, frame.MaxSide, pngOf(frame.MaxSide, frame.MaxSide)},
		{"PNG of 400 million pixels", frame.PNG, 20000, 20000, pngOf(20000, 20000)},
		{"JPEG of 2^32 pixels", frame.JPEG, 65500, 65500, jpegOf(t, 65500, 65500)},
		{"JPEG of 400 million pixels", frame.JPEG, 20000, 20000, jpegOf(t, 20000, 20000)},
		{"PNG other than said", frame.PNG, 8, 8, pngOf(frame.MaxSide, frame.MaxSide)},
		{"JPEG other than said", frame.JPEG, 8, 8, jpegOf(t, 65500, 65500)},
		{"PNG without pixels", frame.PNG, 8, 8, pngOf(8, 8)},
		{"nothing", frame.JPEG, 8, 8, nil},
	} {
		g := frame.Geometry{Encoding: tc.e, Width: tc.width, Height: tc.height}
		if err := cvmat.ToBGR(g, frame.Color{}, tc.file, &dst); !errors.Is(err, cvmat.ErrPicture) {
			t.Errorf("%s: %v", tc.what, err)
		} else {
			t.Logf("%s: %v", tc.what, err)
		}
	}
	if !dst.Empty() {
		t.Errorf("%dx%d", dst.Cols(), dst.Rows())
	}
}
