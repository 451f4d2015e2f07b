// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/jpeg"
)

// jpegs makes n pictures.
func jpegs(t *testing.T, n int) [][]byte {
	t.Helper()
	stream := ffmpegRun(t, "-f", "lavfi", "-i", "testsrc2=s=64x48:r=50", "-frames:v", fmt.Sprint(n), "-q:v", "3", "-f", "mjpeg", "pipe:1")
	s := jpeg.NewSplitter(bytes.NewReader(stream), maxJPEGBytes)
	var all [][]byte
	for {
		b, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bytes.Clone(b))
	}
	if len(all) != n {
		t.Fatalf("%d pictures, want %d", len(all), n)
	}
	return all
}

func decoded(t *testing.T, data []byte, e frame.Encoding) []byte {
	t.Helper()
	d, err := jpeg.NewDecoder(jpeg.Auto)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	g, err := frame.NewGeometry(e, 64, 48)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, g.Size())
	if err := d.Decode(dst, g, data); err != nil {
		t.Fatal(err)
	}
	return dst
}

// marker finds a segment.
func marker(t *testing.T, data []byte, m byte) int {
	t.Helper()
	i := bytes.Index(data, []byte{0xff, m})
	if i < 0 {
		t.Fatalf("no marker %x", m)
	}
	return i
}

// aviOf puts frames into the least AVI file there is.
func aviOf(frames [][]byte) []byte {
	chunk := func(id string, parts ...[]byte) []byte {
		body := bytes.Join(parts, nil)
		out := append(binary.LittleEndian.AppendUint32([]byte(id), uint32(len(body))), body...)
		return append(out, make([]byte, len(body)%2)...)
	}
	strh := make([]byte, 56)
	copy(strh, "vidsMJPG")
	binary.LittleEndian.PutUint32(strh[20:], 1)
	binary.LittleEndian.PutUint32(strh[24:], 50)
	strf := make([]byte, 40)
	strf[4], strf[8] = 64, 48
	copy(strf[16:], "MJPG")
	movi := [][]byte{[]byte("movi")}
	for _, f := range frames {
		movi = append(movi, chunk("00dc", f))
	}
	return chunk("RIFF", []byte("AVI "), chunk("LIST", []byte("hdrl"), chunk("LIST", []byte("strl"), chunk("strh", strh), chunk("strf", strf))), chunk("LIST", movi...))
}

func TestDamagedMJPEG(t *testing.T) {
	const n = 300
	good := jpegs(t, n)
	damage := map[int]struct {
		reason string
		make   func(b []byte) []byte
	}{
		40:  {jpeg.ReasonTruncated, func(b []byte) []byte { return b[:len(b)/2] }},
		80:  {jpeg.ReasonNotJPEG, func(b []byte) []byte { return append([]byte("garbage"), b[2:]...) }},
		120: {jpeg.ReasonTooBig, func(b []byte) []byte { copy(b[marker(t, b, 0xc0)+5:], "\xff\xff\xff\xff"); return b }},
		160: {jpeg.ReasonUnsupported, func(b []byte) []byte { b[marker(t, b, 0xc0)+1] = 0xc3; return b }},
		200: {jpeg.ReasonNoTables, func(b []byte) []byte {
			i := marker(t, b, 0xdb)
			return append(b[:i:i], b[i+2+int(binary.BigEndian.Uint16(b[i+2:])):]...)
		}},
		240: {jpeg.ReasonCorrupt, func(b []byte) []byte { b[marker(t, b, 0xdb)] = 0; return b }}, // no marker there
	}
	var stream [][]byte
	for i, b := range good {
		if d, ok := damage[i]; ok {
			b = d.make(bytes.Clone(b))
		}
		stream = append(stream, b)
	}
	for name, file := range map[string][]byte{"x.mjpeg": bytes.Join(stream, nil), "x.avi": aviOf(stream)} {
		t.Run(name, func(t *testing.T) {
			withoutFFmpeg(t)
			var log bytes.Buffer
			spec, err := capture.ParseSpec(esc(write(t, name, file)) + ",pace=fast")
			if err != nil {
				t.Fatal(err)
			}
			s, err := New(spec)
			if err != nil {
				t.Fatal(err)
			}
			s.Log = slog.New(slog.NewTextHandler(&log, nil))
			next, stamps := map[string]int{}, map[string][]capture.Stamp{}
			sink := &capturetest.Sink{OnFrame: func(f capturetest.Frame) {
				i := next[f.Stream]
				for i < n && damage[i].reason != "" {
					i++
				}
				next[f.Stream] = i + 1
				switch {
				case i >= n:
					t.Errorf("%s: one frame too many", f.Stream)
				case f.Stream == "color/jpeg" && !bytes.Equal(f.Data[:f.Stamp.Bytes], good[i]):
					t.Errorf("%s: %d bytes, not those of frame %d", f.Stream, f.Stamp.Bytes, i)
				case f.Stream == "color" && !bytes.Equal(f.Data, decoded(t, good[i], frame.BGR8)):
					t.Errorf("%s: a picture that is not frame %d", f.Stream, i)
				}
				f.Stamp.Bytes, f.Stamp.CopiedBytes = 0, 0
				stamps[f.Stream] = append(stamps[f.Stream], f.Stamp)
			}}
			err = s.Run(t.Context(), sink)
			st := sink.Stats()
			if !errors.Is(err, capture.ErrEndOfStream) || st.Frames != 2*(n-len(damage)) || len(stamps["color"]) != n-len(damage) {
				t.Errorf("%d frames of both streams, %v", st.Frames, err)
			}
			if !slices.Equal(stamps["color"], stamps["color/jpeg"]) {
				t.Error("the stamps of the two streams differ")
			}
			for _, d := range damage {
				if st.Dropped["damaged_"+capture.DropReason(d.reason)] != 2 {
					t.Errorf("%v, want two of %s, one of each stream", st.Dropped, d.reason)
				}
			}
			const counts = "damaged frames: 1 corrupt, 1 no_tables, 1 not_jpeg, 1 too_big, 1 truncated, 1 unsupported; first damaged frame: truncated JPEG"
			if !strings.Contains(fmt.Sprint(err), counts) {
				t.Errorf("%v, want %s", err, counts)
			}
			if lines := strings.Count(log.String(), "\n"); lines > 3 {
				t.Errorf("%d lines of log:\n%s", lines, log.String())
			}
			if st.Held != 0 || len(st.Misuse) > 0 || st.Opens != 2 {
				t.Errorf("%+v", st)
			}
		})
	}
}

func TestMotionJPEGFiles(t *testing.T) {
	good := jpegs(t, 5)
	repeated := [][]byte{good[0], nil, good[1]}
	folder := t.TempDir()
	for i, b := range good {
		writeTo(t, filepath.Join(folder, fmt.Sprintf("%d.jpg", i+9)), b)
	}
	for _, c := range []struct {
		name, target, options string
		encoding              frame.Encoding
		want                  [][]byte
		interval              int64
	}{
		{"mjpeg", write(t, "a.bin", bytes.Join(good, nil)), "", frame.BGR8, good, 40e6},
		{"one picture", write(t, "a.jpg", good[3]), ",@10", frame.BGR8, good[3:4], 100e6},
		{"avi", write(t, "a.avi", aviOf(good)), "", frame.BGR8, good, 20e6},
		{"avi as grey", write(t, "b.avi", aviOf(good)), ",encoding=mono8", frame.Mono8, good, 20e6},
		{"avi with a frame that stays", write(t, "c.avi", aviOf(repeated)), ",encoding=rgb8", frame.RGB8, [][]byte{good[0], good[0], good[1]}, 20e6},
		{"folder", folder, ",@50", frame.BGR8, good, 20e6},
	} {
		t.Run(c.name, func(t *testing.T) {
			withoutFFmpeg(t)
			i := 0
			_, err := play(t, esc(c.target)+c.options, func(f capturetest.Frame) bool {
				if f.Format.Geometry.Encoding != c.encoding || int64(f.Format.Interval) != c.interval {
					t.Fatalf("%+v", f.Format)
				}
				if i >= len(c.want) || !bytes.Equal(f.Data, decoded(t, c.want[i], c.encoding)) {
					t.Errorf("frame %d is not what the decoder makes", i)
				}
				i++
				return true
			})
			if !errors.Is(err, capture.ErrEndOfStream) || i != len(c.want) {
				t.Errorf("%d frames, %v; want %d", i, err, len(c.want))
			}
		})
	}
}

func TestCutAVI(t *testing.T) {
	whole := aviOf(jpegs(t, 5))
	promise := bytes.Clone(whole)
	binary.LittleEndian.PutUint32(promise[bytes.Index(promise, []byte("strh"))+8+32:], 9)
	withoutFFmpeg(t)
	for name, c := range map[string]struct {
		file   []byte
		frames int
		text   string
	}{
		"in a frame":           {whole[:len(whole)-100], 4, "4 frames, it ends in the middle of a frame"},
		"between frames":       {promise, 5, "5 frames, early: its header promises 9"},
		"rubbish at the end":   {append(bytes.Clone(whole), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 5, "5 frames, it is damaged: not a readable AVI file: no chunk at byte"},
		"nothing but a header": {aviOf(nil), 0, "no frames in it"},
	} {
		t.Run(name, func(t *testing.T) {
			st, err := play(t, esc(write(t, "a.avi", c.file))+",pace=fast", nil)
			if st.Frames != c.frames || err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%d frames, %v; want %d, %q", st.Frames, err, c.frames, c.text)
			}
		})
	}
}
