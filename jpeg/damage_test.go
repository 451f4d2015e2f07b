// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package jpeg

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
)

const (
	clip       = "/usr/share/doc/opencv-doc/examples/data/vtest.avi" // of Debian's opencv-doc
	clipFrames = 300
	clipWidth  = 382
	clipHeight = 287
)

// footage is real video as motion JPEG, frame by frame.
func footage(t *testing.T) [][]byte {
	t.Helper()
	if _, err := os.Stat(clip); err != nil {
		missing(t, "no footage: %v", err)
	}
	stream := tool(t, nil, "ffmpeg", "-v", "error", "-nostdin", "-i", clip, "-frames:v", "300",
		"-vf", "scale=382:287", "-c:v", "mjpeg", "-huffman", "default", "-q:v", "5", "-f", "mjpeg", "-")
	var list [][]byte
	s := NewSplitter(bytes.NewReader(stream), 1<<20)
	for {
		data, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, bytes.Clone(data))
	}
	if len(list) != clipFrames {
		t.Fatalf("%d frames, want %d", len(list), clipFrames)
	}
	return list
}

// damaged takes every step-th frame, spoils six of them, each in another way,
// and says how that must be counted. Every tenth frame has no Huffman tables, which is no damage.
func damaged(t *testing.T, list [][]byte, first, step int) (stream []byte, good []int, reasons map[string]int) {
	t.Helper()
	middle := func(data []byte) int { return (find(t, data, markerSOS) + len(data)) / 2 }
	spoil := map[int]func([]byte) []byte{
		20:  func(d []byte) []byte { return d[:middle(d)] },                                       // cut
		71:  func(d []byte) []byte { return d[:len(d)-2] },                                        // no EOI
		122: func(d []byte) []byte { return with(d, 0, 'n', 'o') },                                // no SOI
		173: func(d []byte) []byte { return with(d, find(t, d, markerSOF0)+5, 0xff, 0, 0xff, 0) }, // 65280x65280
		224: func(d []byte) []byte { return cut(t, d, markerDQT) },                                // no quantisation
		275: func(d []byte) []byte { return with(d, middle(d), noise()...) },                      // coded data
	}
	for i := first; i < len(list); i += step {
		data := list[i]
		if i%10 == 0 {
			data = cut(t, data, markerDHT)
		}
		if f := spoil[i]; f != nil {
			stream = append(stream, f(data)...)
			continue
		}
		stream = append(stream, data...)
		good = append(good, i)
	}
	return stream, good, map[string]int{
		ReasonTruncated: 2, ReasonNotJPEG: 1, ReasonTooBig: 1, ReasonNoTables: 1, ReasonCorrupt: 1,
	}
}

// noise has no 0xff, so that only the coded data is hit.
func noise() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 200)
	for i := range data {
		data[i] = byte(r.UintN(255))
	}
	return data
}

// Of 300 frames with six kinds of damage the 294 good ones come out, bit by bit
// as djpeg -dct int decodes the undamaged ones, and the others are counted by
// reason.
func TestDamagedStream(t *testing.T) {
	d := decoder(t, Turbo)
	list := footage(t)
	stream, good, reasons := damaged(t, list, 0, 1)
	g := geometry(t, frame.RGB8, clipWidth, clipHeight, 6)
	var decoded [][]byte
	counted := map[string]int{}
	s := NewSplitter(bytes.NewReader(stream), 1<<20)
	for {
		data, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			var dst []byte
			if dst, err = decode(t, d, g, data); err == nil {
				decoded = append(decoded, tight(t, g, dst))
				continue
			}
		}
		if Reason(err) == "" {
			t.Fatal(err)
		}
		counted[Reason(err)]++
	}
	if !maps.Equal(counted, reasons) {
		t.Errorf("counted %v, want %v", counted, reasons)
	}
	if len(decoded) != len(good) || len(good) != clipFrames-6 {
		t.Fatalf("%d good frames, want %d", len(decoded), len(good))
	}
	for i, n := range good {
		if !bytes.Equal(decoded[i], djpeg(t, list[n], g)) {
			t.Errorf("frame %d differs from what djpeg decodes", n)
		}
	}
}

// Go's decoder finds the same good frames. Damage of coded data alone may escape
// it.
func TestDamagedStreamWithoutLibrary(t *testing.T) {
	d := decoder(t, Go)
	stream, good, _ := damaged(t, footage(t), 3, 17) // the damaged ones, and two good ones for each
	g := geometry(t, frame.Mono8, clipWidth, clipHeight, 0)
	s := NewSplitter(bytes.NewReader(stream), 1<<20)
	decoded, counted := 0, map[string]int{}
	for {
		data, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			_, err = decode(t, d, g, data)
		}
		if err != nil {
			counted[Reason(err)]++
		} else {
			decoded++
		}
	}
	if decoded < len(good) || decoded > len(good)+1 || counted[ReasonTruncated] < 2 ||
		counted[ReasonNotJPEG] != 1 || counted[ReasonTooBig] != 1 || counted[ReasonNoTables] != 1 {
		t.Errorf("%d frames, %v", decoded, counted)
	}
}
