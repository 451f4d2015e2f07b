// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package jpeg

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"
)

// piece is what Next hands out: a good frame, or what is wrong with it.
type piece struct {
	data   string
	reason string
}

func (p piece) String() string { return fmt.Sprintf("%d bytes %q", len(p.data), p.reason) }

// pieces takes a stream apart to its end.
func pieces(t testing.TB, r io.Reader, most int) []piece {
	t.Helper()
	s := NewSplitter(r, most)
	var list []piece
	for {
		data, err := s.Next()
		if errors.Is(err, io.EOF) {
			if len(data) != 0 {
				t.Fatalf("%d bytes with the end", len(data))
			}
			return list
		}
		if err != nil && Reason(err) == "" {
			t.Fatal(err)
		}
		if len(data) == 0 {
			t.Fatalf("nothing handed out, %v", err)
		}
		list = append(list, piece{string(data), Reason(err)})
	}
}

func TestSplitter(t *testing.T) {
	a, b := sample(t, 40, 30), sample(t, 24, 24)
	// A picture in a segment of the other: what a search for SOI would fall for.
	segment := append([]byte{0xff, 0xe1, byte((len(b) + 2) >> 8), byte(len(b) + 2)}, b...)
	nested := join(a[:2], segment, a[2:])
	sos, dqt := find(t, a, markerSOS), find(t, a, markerDQT)
	middle := (sos + len(a)) / 2
	noEOI := a[:len(a)-2]
	dht := find(t, a, markerDHT)
	holed := join(a[:dht], a[dht+9:])
	long := with(a, dqt+2, 0xff, 0xff) // swallows what follows
	garbage := []byte("garbage \xff\xd8 garbage \xff")
	good := func(data []byte) piece { return piece{string(data), ""} }
	bad := func(data []byte, reason string) piece { return piece{string(data), reason} }
	for _, tc := range []struct {
		name   string
		stream []byte
		want   []piece
	}{
		{"empty", nil, nil},
		{"zeros", make([]byte, 100), nil},
		{"one", a, []piece{good(a)}},
		{"three", join(a, b, a), []piece{good(a), good(b), good(a)}},
		{"zeros between", join(a, make([]byte, 99), b), []piece{good(a), good(b)}},
		{"a picture within", join(nested, b), []piece{good(nested), good(b)}},
		{"fill bytes", join(a[:2], []byte{0xff, 0xff}, a[2:], b), []piece{good(join(a[:2], []byte{0xff, 0xff}, a[2:])), good(b)}},
		{"garbage first", join(garbage, a), []piece{bad(garbage, ReasonNotJPEG), good(a)}},
		{"garbage between and last", join(a, garbage, b, garbage), []piece{good(a), bad(garbage, ReasonNotJPEG), good(b), bad(garbage, ReasonNotJPEG)}},
		{"only garbage", garbage, []piece{bad(garbage, ReasonNotJPEG)}},
		{"one byte", []byte{0xff}, []piece{bad([]byte{0xff}, ReasonNotJPEG)}},
		{"cut in the picture", join(a[:middle], b), []piece{bad(a[:middle], ReasonTruncated), good(b)}},
		{"cut in a segment", join(a[:dqt+40], b, a), []piece{bad(a[:dqt+40], ReasonCorrupt), good(b), good(a)}},
		{"no EOI", join(noEOI, b), []piece{bad(noEOI, ReasonTruncated), good(b)}},
		{"a hole in the headers", join(holed, b), []piece{bad(holed, ReasonCorrupt), good(b)}},
		{"a length that swallows frames", join(long, b, a), []piece{bad(long, ReasonTruncated), good(b), good(a)}},
		{"cut at the end", join(b, a[:middle]), []piece{good(b), bad(a[:middle], ReasonTruncated)}},
		{"cut in the headers at the end", join(b, a[:5]), []piece{good(b), bad(a[:5], ReasonTruncated)}},
		{"SOI alone", join(b, a[:3]), []piece{good(b), bad(a[:3], ReasonTruncated)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"at once":      bytes.NewReader(tc.stream),
				"bytewise":     iotest.OneByteReader(bytes.NewReader(tc.stream)),
				"with its end": iotest.DataErrReader(bytes.NewReader(tc.stream)),
			} {
				if got := pieces(t, r, 1<<20); fmt.Sprint(got) != fmt.Sprint(tc.want) || len(got) != len(tc.want) {
					t.Errorf("%s: got %v, want %v", name, got, tc.want)
				} else {
					for i := range got {
						if got[i] != tc.want[i] {
							t.Errorf("%s: piece %d differs", name, i)
						}
					}
				}
			}
		})
	}
}

func TestSplitterLimit(t *testing.T) {
	a, b := sample(t, 400, 300), sample(t, 16, 16)
	for name, r := range map[string]io.Reader{
		"at once":  bytes.NewReader(join(b, a, b)),
		"bytewise": iotest.OneByteReader(bytes.NewReader(join(b, a, b))),
	} {
		list := pieces(t, r, len(b))
		if len(list) < 3 || list[0].reason != "" || list[len(list)-1] != list[0] || list[1].reason != ReasonTooBig {
			t.Errorf("%s: got %v", name, list)
		}
	}
}

// A frame is handed out as soon as its EOI is there: a live stream may say
// nothing more for long.
func TestSplitterDoesNotWaitForTheNextFrame(t *testing.T) {
	a := sample(t, 40, 30)
	r, w := io.Pipe()
	defer r.Close()
	go func() { _, _ = w.Write(a) }() // and then nothing
	got, err := NewSplitter(r, 1<<20).Next()
	if err != nil || !bytes.Equal(got, a) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

func TestSplitterReaderErrors(t *testing.T) {
	a := sample(t, 40, 30)
	broken := errors.New("cable")
	for _, tc := range []struct {
		name string
		data []byte
	}{{"between frames", a}, {"in the headers", a[:10]}, {"in the picture", a[:len(a)-5]}} {
		s := NewSplitter(io.MultiReader(bytes.NewReader(tc.data), iotest.ErrReader(broken)), 1<<20)
		var err error
		for range 3 {
			if _, err = s.Next(); err != nil {
				break
			}
		}
		if !errors.Is(err, broken) {
			t.Errorf("%s: got %v", tc.name, err)
		}
	}
	if _, err := NewSplitter(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(a))), 1<<20).Next(); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("timeout: got %v", err)
	}
	if _, err := NewSplitter(zeroReader{}, 1<<20).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that reads nothing: got %v", err)
	}
}

type zeroReader struct{}

func (zeroReader) Read([]byte) (int, error) { return 0, nil }

func FuzzSplitter(f *testing.F) {
	a := sample(f, 33, 17)
	f.Add(join(a, a), uint16(4000))
	f.Add(join(a[:len(a)/2], a, []byte("garbage"), a), uint16(4000))
	f.Add(join(a, a), uint16(100))
	f.Add([]byte{0xff, 0xd8, 0xff, 0xda, 0, 2, 0xff}, uint16(10))
	f.Fuzz(func(t *testing.T, stream []byte, most uint16) {
		limit := max(int(most), 4)
		whole := pieces(t, bytes.NewReader(stream), limit)
		slow := pieces(t, iotest.HalfReader(bytes.NewReader(stream)), limit)
		for _, list := range [][]piece{whole, slow} {
			rest := stream
			for _, p := range list {
				// Every byte comes out once; only zeros may be left out before it.
				i := bytes.Index(rest, []byte(p.data))
				if i < 0 || len(bytes.Trim(rest[:i], "\x00")) != 0 {
					t.Fatalf("%v after %d bytes of %d", p, len(stream)-len(rest), len(stream))
				}
				rest = rest[i+len(p.data):]
				if p.reason == "" && (len(p.data) > limit || p.data[:2] != "\xff\xd8" || p.data[len(p.data)-2:] != "\xff\xd9") {
					t.Fatalf("good frame %v of at most %d", p, limit)
				}
			}
			if len(bytes.Trim(rest, "\x00")) != 0 {
				t.Fatalf("%d bytes never came out", len(rest))
			}
		}
		if a, b := frames(whole), frames(slow); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("good frames depend on how bytes arrive: %v, %v", whole, slow)
		}
	})
}

func frames(list []piece) (good []string) {
	for _, p := range list {
		if p.reason == "" {
			good = append(good, p.data)
		}
	}
	return good
}
