// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package jpeg

import (
	"bytes"
	"errors"
	"fmt"
	std "image/jpeg"
	"testing"
)

// join concatenates without touching its arguments.
func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// with returns a copy with some bytes replaced.
func with(data []byte, at int, b ...byte) []byte {
	out := bytes.Clone(data)
	copy(out[at:], b)
	return out
}

func TestValidate(t *testing.T) {
	good := sample(t, 100, 60)
	sof, sos, dqt := find(t, good, markerSOF0), find(t, good, markerSOS), find(t, good, markerDQT)
	middle := (sos + len(good)) / 2
	plain := func(n int) Info { return Info{Width: 100, Height: 60, Components: 3, Scans: 1, Length: n} }
	noTables := cut(t, good, markerDHT)
	needs := plain(len(noTables))
	needs.NeedsTables = true
	for _, tc := range []struct {
		name string
		data []byte
		want Info
		err  error
	}{
		{"whole", good, plain(len(good)), nil},
		{"zeros behind", join(good, make([]byte, 1000)), plain(len(good)), nil},
		{"garbage behind", join(good, []byte("next")), plain(len(good)), nil},
		{"fill bytes before a marker", join(good[:2], []byte{0xff, 0xff, 0xff}, good[2:]), plain(len(good) + 3), nil},
		{"a thumbnail in a segment", join(good[:2], []byte{0xff, 0xe1, 0, 8, 0xff, 0xd8, 0xff, 0xd9, 0, 0}, good[2:]), plain(len(good) + 10), nil},
		{"standard tables left out", noTables, needs, nil},
		{"only one table left out", with(good, find(t, good, markerDHT)+4, 0x03), needsTables(plain(len(good))), nil},

		{"empty", nil, Info{}, ErrNotJPEG},
		{"garbage before", join([]byte{0}, good), Info{}, ErrNotJPEG},
		{"only SOI", good[:2], Info{}, ErrTruncated},
		{"cut in a marker", good[:3], Info{}, ErrTruncated},
		{"cut in a segment", good[:dqt+40], Info{}, ErrTruncated},
		{"cut in the picture", good[:middle], Info{}, ErrTruncated},
		{"no EOI", good[:len(good)-2], Info{}, ErrTruncated},
		{"half of EOI", good[:len(good)-1], Info{}, ErrTruncated},
		{"the next frame in the picture", join(good[:middle], good), Info{}, ErrTruncated},
		{"no picture", join(good[:sos], []byte{0xff, markerEOI}), Info{}, ErrCorrupt},
		{"no frame header", cut(t, good, markerSOF0), Info{}, ErrCorrupt},
		{"two frame headers", join(good[:sof], good[sof:sof+19], good[sof:]), Info{}, ErrCorrupt},
		{"a hole in the headers", join(good[:dqt], good[dqt+9:]), Info{}, ErrCorrupt},
		{"segment of one byte", with(good, dqt+2, 0, 1), Info{}, ErrCorrupt},
		{"no width", with(good, sof+7, 0, 0), Info{}, ErrCorrupt},
		{"sampling of five", with(good, sof+11, 0x51), Info{}, ErrCorrupt},
		{"scan of an unknown component", with(good, sos+5, 9), Info{}, ErrCorrupt},
		{"scan of no component", with(good, sos+4, 0), Info{}, ErrCorrupt},
		{"a restart marker that nobody asked for", with(good, middle, 0xff, markerRST0), Info{}, ErrCorrupt},
		{"a restart marker in the headers", join(good[:2], []byte{0xff, markerRST0}, good[2:]), Info{}, ErrCorrupt},
		{"more Huffman codes than there are", with(good, find(t, good, markerDHT)+5, 3), Info{}, ErrCorrupt},
		{"quantisation table five", with(good, dqt+4, 5), Info{}, ErrCorrupt},
		{"too wide", with(good, sof+7, 0xff, 0xff), Info{}, ErrTooBig},
		{"too high", with(good, sof+5, 0xff, 0xff), Info{}, ErrTooBig},
		{"no quantisation tables", cut(t, good, markerDQT), Info{}, ErrNoTables},
		{"a Huffman table that is not standard", with(good, sos+6, 0x22), Info{}, ErrNoTables},
		{"arithmetic coding", with(good, sof+1, 0xc9), Info{}, ErrUnsupported},
		{"lossless", with(good, sof+1, 0xc3), Info{}, ErrUnsupported},
		{"twelve bits", with(good, sof+4, 12), Info{}, ErrUnsupported},
		{"two components", with(good, sof+9, 2), Info{}, ErrUnsupported},
		{"lines counted at the end", join(good[:len(good)-2], []byte{0xff, markerDNL, 0, 4, 0, 60}, good[len(good)-2:]), Info{}, ErrUnsupported},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Validate(tc.data, Limits{Width: 4000, Height: 3000})
			if !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) {
				t.Fatalf("got %v, want %v", err, tc.err)
			}
			if err == nil && got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
	if _, err := Validate(good, Limits{Pixels: 5999}); !errors.Is(err, ErrTooBig) {
		t.Errorf("a pixel too many: %v", err)
	}
}

func needsTables(i Info) Info {
	i.NeedsTables = true
	return i
}

func TestReasons(t *testing.T) {
	seen := map[string]bool{}
	for _, err := range []error{ErrNotJPEG, ErrTruncated, ErrCorrupt, ErrTooBig, ErrNoTables, ErrUnsupported, ErrSize} {
		r := Reason(fmt.Errorf("frame 7: %w", err))
		if r == "" || seen[r] {
			t.Errorf("%v: reason %q", err, r)
		}
		seen[r] = true
	}
	if r := Reason(errors.New("other")) + Reason(nil); r != "" {
		t.Errorf("reason %q of what is not ours", r)
	}
}

// What cameras and programs send: other samplings, progressive, restarts.
func TestValidateKinds(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want Info
	}{
		{"4:2:2", []string{"-sample", "2x1"}, Info{Width: 77, Height: 51, Components: 3, Scans: 1}},
		{"4:4:4 optimised", []string{"-sample", "1x1", "-optimize"}, Info{Width: 77, Height: 51, Components: 3, Scans: 1}},
		{"restarts", []string{"-restart", "3B"}, Info{Width: 77, Height: 51, Components: 3, Scans: 1}},
		{"progressive", []string{"-progressive"}, Info{Width: 77, Height: 51, Components: 3, Scans: 10, Progressive: true}},
		{"grey", []string{"-grayscale"}, Info{Width: 77, Height: 51, Components: 1, Scans: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data := tool(t, ppm(77, 51), "cjpeg", tc.args...)
			tc.want.Length = len(data)
			if got, err := Validate(data, Limits{}); err != nil || got != tc.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
			if tc.name != "restarts" {
				return
			}
			i := bytes.Index(data, []byte{0xff, markerRST0 + 3})
			if _, err := Validate(with(data, i+1, markerRST0+5), Limits{}); !errors.Is(err, ErrCorrupt) {
				t.Errorf("a wrong restart marker: %v", err)
			}
		})
	}
}

// The tables are those that Go's encoder writes, which are the standard ones.
func TestInsertTables(t *testing.T) {
	good := sample(t, 100, 60)
	bare := cut(t, good, markerDHT)
	filled := InsertTables([]byte("before"), bare)
	if len(filled) != 6+len(bare)+TablesBytes {
		t.Errorf("%d bytes became %d", len(bare), len(filled)-6)
	}
	filled = filled[6:]
	info, err := Validate(filled, Limits{})
	if err != nil || info.NeedsTables {
		t.Fatalf("with tables: %+v, %v", info, err)
	}
	want, err := std.Decode(bytes.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	got, err := std.Decode(bytes.NewReader(filled))
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("decodes to another picture, %v", err)
	}
	// A frame's own tables come later.
	if own, err := std.Decode(bytes.NewReader(InsertTables(nil, good))); err != nil || fmt.Sprint(own) != fmt.Sprint(want) {
		t.Errorf("with its own tables too: another picture, %v", err)
	}
	buf := make([]byte, 0, len(filled))
	if n := testing.AllocsPerRun(10, func() { buf = InsertTables(buf[:0], bare) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if got := InsertTables(nil, []byte{0xff}); !bytes.Equal(got, []byte{0xff}) {
		t.Errorf("one byte became %x", got)
	}
}

func TestValidateDoesNotAllocate(t *testing.T) {
	good := sample(t, 100, 60)
	if n := testing.AllocsPerRun(10, func() {
		if _, err := Validate(good, Limits{}); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzValidate(f *testing.F) {
	good := sample(f, 33, 17)
	f.Add(good)
	f.Add(cut(f, good, markerDHT))
	f.Add(good[:len(good)/2])
	f.Add(join(good, good))
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := Validate(data, Limits{})
		if err != nil {
			if Reason(err) == "" {
				t.Fatalf("no reason for %v", err)
			}
			return
		}
		if info.Length > len(data) || info.Width < 1 || info.Height < 1 || info.Width*info.Height > 1<<26 || info.Scans < 1 {
			t.Fatalf("%+v of %d bytes", info, len(data))
		}
		// What follows the end plays no part.
		if again, err := Validate(data[:info.Length], Limits{}); err != nil || again != info {
			t.Fatalf("without what follows: %+v, %v", again, err)
		}
		if filled, err := Validate(InsertTables(nil, data), Limits{}); err != nil || filled.NeedsTables {
			t.Fatalf("with tables: %+v, %v", filled, err)
		}
	})
}
