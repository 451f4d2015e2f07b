// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package avi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// chunk builds a RIFF chunk, padded to an even size.
func chunk(id string, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	out := binary.LittleEndian.AppendUint32([]byte(id), uint32(len(body)))
	out = append(out, body...)
	if len(body)%2 == 1 {
		out = append(out, 0)
	}
	return out
}

func list(id, kind string, parts ...[]byte) []byte {
	return chunk(id, append([][]byte{[]byte(kind)}, parts...)...)
}

func streamHeader(kind, codec string, scale, rate, frames uint32) []byte {
	b := make([]byte, 56)
	copy(b, kind+codec)
	binary.LittleEndian.PutUint32(b[20:], scale)
	binary.LittleEndian.PutUint32(b[24:], rate)
	binary.LittleEndian.PutUint32(b[32:], frames)
	return chunk("strh", b)
}

func bitmapHeader(w, h int32, codec string) []byte {
	b := make([]byte, 40)
	binary.LittleEndian.PutUint32(b[4:], uint32(w))
	binary.LittleEndian.PutUint32(b[8:], uint32(h))
	copy(b[16:], codec)
	return chunk("strf", b)
}

func headers() []byte {
	return list(
		"LIST", "hdrl", chunk("avih", make([]byte, 56)),
		list("LIST", "strl", streamHeader("auds", "\x00\x00\x00\x00", 1, 8000, 0), chunk("strf", make([]byte, 18))),
		list("LIST", "strl", streamHeader("vids", "mjpg", 1001, 30000, 3), bitmapHeader(640, -480, "MJPG")),
	)
}

func small() []byte {
	return list(
		"RIFF", "AVI ", headers(), chunk("JUNK", make([]byte, 11)),
		list("LIST", "movi", chunk("01dc", []byte("one")), chunk("00wb", []byte("sound")), list("LIST", "rec ", chunk("01db", []byte("two!")), chunk("01dc"))),
		chunk("idx1", make([]byte, 16)),
	)
}

func frames(t *testing.T, r *Reader) (texts []string, err error) {
	t.Helper()
	var buf []byte
	for {
		c, err := r.Next()
		if err != nil {
			return texts, err
		}
		if buf, err = r.Read(c, buf); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(buf))
	}
}

func TestLists(t *testing.T) {
	// OpenDML puts what is above 1 GB into further RIFF lists.
	file := append(small(), list("RIFF", "AVIX", list("LIST", "movi", chunk("ix01", make([]byte, 8)), chunk("01dc", []byte("three"))))...)
	r, err := NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Stream{640, 480, 30000.0 / 1001, 3, "MJPG", 1}); r.Stream != want {
		t.Errorf("%+v, want %+v", r.Stream, want)
	}
	for pass := range 2 {
		texts, err := frames(t, r)
		if err != io.EOF || fmt.Sprint(texts) != "[one two!  three]" {
			t.Errorf("pass %d: %q, %v", pass, texts, err)
		}
		r.Rewind()
	}
}

func TestUnfinished(t *testing.T) {
	whole := small()
	movi := bytes.Index(whole, []byte("movi"))
	// A writer that was killed leaves no sizes.
	killed := bytes.Clone(whole)
	binary.LittleEndian.PutUint32(killed[4:], 0)
	binary.LittleEndian.PutUint32(killed[movi-4:], 0)
	r, err := NewReader(bytes.NewReader(killed))
	if err != nil {
		t.Fatal(err)
	}
	if texts, err := frames(t, r); err != io.EOF || len(texts) != 3 {
		t.Errorf("without sizes: %q, %v", texts, err)
	}
	for n := range len(whole) {
		r, err := NewReader(bytes.NewReader(whole[:n]))
		if n < movi+4 {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("%d bytes: %v", n, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		texts, err := frames(t, r)
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || len(texts) > 3 {
			t.Errorf("%d bytes: %q, %v", n, texts, err)
		}
	}
}

func TestRefused(t *testing.T) {
	noVideo := list("RIFF", "AVI ", list("LIST", "hdrl", list("LIST", "strl", streamHeader("auds", "abcd", 1, 1, 0))), list("LIST", "movi"))
	for name, file := range map[string][]byte{
		"empty": nil, "wave": list("RIFF", "WAVE", chunk("fmt ", make([]byte, 16))), "text": []byte("this is not an AVI file at all"),
		"no video": noVideo, "no headers": list("RIFF", "AVI ", list("LIST", "movi")),
	} {
		if _, err := NewReader(bytes.NewReader(file)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := append(small(), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	r, err := NewReader(bytes.NewReader(broken))
	if err != nil {
		t.Fatal(err)
	}
	if texts, err := frames(t, r); !errors.Is(err, ErrFormat) || len(texts) != 3 {
		t.Errorf("rubbish behind: %q, %v", texts, err)
	}
}

func TestFileOfFFmpeg(t *testing.T) {
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("ffmpeg is missing")
		}
		t.Skip("ffmpeg is missing")
	}
	path := t.TempDir() + "/clip.avi"
	run := func(args ...string) []byte {
		out, err := exec.Command(program, append([]string{"-v", "error", "-nostdin"}, args...)...).Output()
		if err != nil {
			t.Fatalf("ffmpeg %v: %v", args, err)
		}
		return out
	}
	run("-f", "lavfi", "-i", "testsrc2=s=160x120:r=25", "-f", "lavfi", "-i", "sine", "-t", "0.8", "-c:v", "mjpeg", path)
	// The packets one after the other are what the chunks must hold.
	want := run("-i", path, "-map", "0:v:0", "-c", "copy", "-f", "rawvideo", "pipe:1")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := frames(t, r)
	var got []byte
	full := 0
	for _, x := range texts {
		got = append(got, x...)
		if x != "" { // ffmpeg puts in empty chunks where it waits for sound
			full++
		}
	}
	if want := (Stream{160, 120, 25, uint64(len(texts)), "MJPG", 0}); r.Stream != want {
		t.Errorf("%+v, want %+v", r.Stream, want)
	}
	if err != io.EOF || full != 20 || !bytes.Equal(got, want) {
		t.Errorf("%d frames, %d bytes, %v; want 20, %d", len(texts), len(got), err, len(want))
	}
}

func FuzzReader(f *testing.F) {
	f.Add(small())
	f.Add(append(small(), list("RIFF", "AVIX", list("LIST", "movi", chunk("01dc", []byte("three"))))...))
	f.Add(list("RIFF", "AVI ", headers(), list("LIST", "movi", chunk("01dc", []byte("x")))))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := NewReader(bytes.NewReader(data))
		if err != nil {
			return
		}
		last := int64(0)
		for {
			c, err := r.Next()
			if err != nil {
				return
			}
			if c.Offset <= last || c.Size < 0 || c.Offset+int64(c.Size) > int64(len(data)) {
				t.Fatalf("chunk %+v of %d bytes, the one before at %d", c, len(data), last)
			}
			last = c.Offset
			if b, err := r.Read(c, nil); err != nil || len(b) != c.Size {
				t.Fatalf("chunk %+v: %v", c, err)
			}
		}
	})
}
