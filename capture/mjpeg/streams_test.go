// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package mjpeg

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	std "image/jpeg"
	"maps"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/jpeg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// picture is a JPEG that differs with n.
func picture(t testing.TB, width, height, n int) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.SetRGBA(x, y, color.RGBA{byte(x * 3), byte(y*5 + n), byte(x + y + 9*n), 255})
		}
	}
	var b bytes.Buffer
	if err := std.Encode(&b, m, &std.Options{Quality: 90}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// cut takes the first segment with that marker out.
func cut(t testing.TB, data []byte, marker byte) []byte {
	t.Helper()
	for p := 2; p+4 <= len(data); {
		n := 2 + int(data[p+2])<<8 + int(data[p+3])
		if data[p+1] == marker {
			return slices.Delete(bytes.Clone(data), p, p+n)
		}
		p += n
	}
	t.Fatalf("no marker %#x", marker)
	return nil
}

func without(t testing.TB, data []byte, marker byte) []byte {
	t.Helper()
	for bytes.Contains(data[:700], []byte{0xff, marker}) {
		data = cut(t, data, marker)
	}
	return data
}

func decoded(t testing.TB, data []byte, e frame.Encoding, width, height int) []byte {
	t.Helper()
	d, err := jpeg.NewDecoder(jpeg.Auto)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	g, err := frame.NewGeometry(e, width, height)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, g.Size())
	if err := d.Decode(dst, g, data); err != nil {
		t.Fatal(err)
	}
	return dst
}

// audience is a sink whose streams are read only by those that are named.
type audience struct {
	capturetest.Sink
	read map[string]bool
	// full streams have no slot.
	full map[string]bool
}

type seat struct {
	capture.Writer
	a    *audience
	name string
}

func (a *audience) Open(stream string, f capture.Format) (capture.Writer, error) {
	w, err := a.Sink.Open(stream, f)
	return &seat{w, a, stream}, err
}

func (s *seat) Wanted() bool { return s.a.read[s.name] }

func (s *seat) Acquire() (*capture.Slot, error) {
	if s.a.full[s.name] {
		return nil, capture.ErrNoSlot
	}
	return s.Writer.Acquire()
}

// got is what was published on a stream.
type got struct {
	frames [][]byte
	stamps []capture.Stamp
	format capture.Format
}

// watch collects what is published.
func watch(names ...string) (*audience, map[string]*got) {
	all := map[string]*got{"color": {}, "color/jpeg": {}}
	a := &audience{read: map[string]bool{}, full: map[string]bool{}}
	for _, n := range names {
		a.read[n] = true
	}
	a.OnFrame = func(f capturetest.Frame) {
		g := all[f.Stream]
		data := f.Data
		if f.Format.Geometry.Compressed() {
			data = data[:f.Stamp.Bytes]
		}
		g.frames = append(g.frames, bytes.Clone(data))
		g.stamps = append(g.stamps, f.Stamp)
		g.format = f.Format
	}
	return a, all
}

func open(t testing.TB, a *audience, c Config) *Streams {
	t.Helper()
	c.Stream = "color"
	s, err := Open(a, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if st := a.Stats(); st.Held != 0 || len(st.Misuse) != 0 {
			t.Errorf("%d slots held, misuse %q", st.Held, st.Misuse)
		}
	})
	return s
}

// Work is done for those who read, and for nobody else.
func TestWorkOnDemand(t *testing.T) {
	const frames = 10
	for _, c := range []struct {
		name            string
		read            []string
		decoded, copied int
	}{
		{"nobody", nil, 0, 0},
		{"compressed", []string{"color/jpeg"}, 0, frames},
		{"decoded", []string{"color"}, frames, 0},
		{"both", []string{"color", "color/jpeg"}, frames, frames},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, all := watch(c.read...)
			s := open(t, a, Config{Width: 64, Height: 48, Interval: time.Second, Clock: frame.ClockReplay})
			var packets [][]byte
			for i := range frames {
				packets = append(packets, picture(t, 64, 48, i))
				if err := s.Take(packets[i]); err != nil {
					t.Fatal(err)
				}
				s.Publish(capture.Stamp{DriverSequence: uint64(i), CaptureNanos: int64(i) + 1, Copies: 1, Flags: frame.Replayed})
			}
			if n := s.Counts(); n.Decoded != c.decoded || n.Copied != c.copied {
				t.Errorf("%+v, want %d decoded and %d copied", n, c.decoded, c.copied)
			}
			if j, p := len(all["color/jpeg"].frames), len(all["color"].frames); j != c.copied || p != c.decoded {
				t.Errorf("%d compressed and %d decoded frames", j, p)
			}
			for i, f := range all["color/jpeg"].frames {
				st := all["color/jpeg"].stamps[i]
				if !bytes.Equal(f, packets[i]) || st.CopiedBytes != len(f) || st.Copies != 2 || st.DriverSequence != uint64(i) || st.Flags != frame.Replayed {
					t.Errorf("compressed frame %d: %d bytes, want %d; %+v", i, len(f), len(packets[i]), st)
				}
			}
			for i, f := range all["color"].frames {
				st := all["color"].stamps[i]
				if !bytes.Equal(f, decoded(t, packets[i], frame.BGR8, 64, 48)) || st.Copies != 0 || st.DriverSequence != uint64(i) || st.CaptureNanos != int64(i)+1 {
					t.Errorf("picture %d is not what the decoder makes; %+v", i, st)
				}
			}
			for name, g := range all {
				if len(g.frames) > 0 && (g.format.Interval != time.Second || g.format.Clock != frame.ClockReplay) {
					t.Errorf("%s: %+v", name, g.format)
				}
			}
		})
	}
}

// Whatever the source leaves open, the times of a picture are the same on both
// streams.
func TestTimesAreTheSame(t *testing.T) {
	a, all := watch("color", "color/jpeg")
	s := open(t, a, Config{Width: 64, Height: 48})
	given := []capture.Stamp{{}, {CaptureNanos: 5}, {WallNanos: 7}, {CaptureNanos: 8, WallNanos: 9}}
	for i, st := range given {
		if err := s.Take(picture(t, 64, 48, i)); err != nil {
			t.Fatal(err)
		}
		s.Publish(st)
	}
	for i, st := range given {
		p, j := all["color"].stamps[i], all["color/jpeg"].stamps[i]
		if p.CaptureNanos != j.CaptureNanos || p.WallNanos != j.WallNanos || p.PublishNanos != j.PublishNanos ||
			p.CaptureNanos == 0 || p.WallNanos == 0 || p.PublishNanos == 0 ||
			st.CaptureNanos != 0 && p.CaptureNanos != st.CaptureNanos || st.WallNanos != 0 && p.WallNanos != st.WallNanos {
			t.Errorf("%+v and %+v of %+v", p, j, st)
		}
		if i > 0 && p.PublishNanos == all["color"].stamps[i-1].PublishNanos {
			t.Errorf("picture %d was handed over when the one before was", i)
		}
	}
}

// Frames in slots of the device go out without a copy, and come back if they
// are damaged.
func TestInPlace(t *testing.T) {
	a, all := watch("color")
	s := open(t, a, Config{Width: 64, Height: 48, MaxBytes: 20_000, InPlace: true, Held: 2, Encoding: frame.Mono8})
	w := s.Compressed()
	slot, err := w.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	whole := picture(t, 64, 48, 1)
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"cut":          {whole[:len(whole)/2], jpeg.ErrTruncated},
		"empty":        {nil, jpeg.ErrNotJPEG},
		"another size": {picture(t, 32, 24, 1), jpeg.ErrSize},
	} {
		n := copy(slot.Data, c.data)
		err := s.TakeSlot(slot, n)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		var size *SizeError
		if errors.As(err, &size) && (size.Width != 32 || size.Height != 24) {
			t.Errorf("%s: %v", name, err)
		}
	}
	n := copy(slot.Data, whole)
	if err := s.TakeSlot(slot, n+100); err != nil { // zeros behind it
		t.Fatal(err)
	}
	s.Publish(capture.Stamp{DriverSequence: 7})
	if j := all["color/jpeg"]; len(j.frames) != 1 || !bytes.Equal(j.frames[0], whole) || j.stamps[0].CopiedBytes != 0 || j.format.Held != 2 || j.format.Geometry.Max != 20_000 {
		t.Errorf("%d frames, %+v, %+v", len(j.frames), j.stamps, j.format)
	}
	if p := all["color"]; len(p.frames) != 1 || !bytes.Equal(p.frames[0], decoded(t, whole, frame.Mono8, 64, 48)) || p.stamps[0].DriverSequence != 7 {
		t.Errorf("%d pictures, %+v", len(p.frames), p.stamps)
	}
}

func TestDamageIsCountedOnBothStreams(t *testing.T) {
	whole := picture(t, 64, 48, 1)
	noise := bytes.Clone(whole)
	for i := len(noise) - 200; i < len(noise)-100; i++ {
		noise[i] = byte(i * 37 % 255)
	}
	for _, c := range []struct {
		name   string
		data   []byte
		reason capture.DropReason
	}{
		{"cut", whole[:len(whole)-100], "damaged_truncated"},
		{"garbage", []byte("what"), "damaged_not_jpeg"},
		{"no quantisation tables", without(t, whole, 0xdb), "damaged_no_tables"},
		{"size beyond limits", bytes.Replace(whole, []byte{0, 48, 0, 64, 3}, []byte{255, 48, 255, 64, 3}, 1), "damaged_too_big"},
		{"a size that the data is not of", bytes.Replace(whole, []byte{0, 48, 0, 64, 3}, []byte{4, 48, 0, 64, 3}, 1), "damaged_truncated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, all := watch("color", "color/jpeg")
			s := open(t, a, Config{Width: 64, Height: 48})
			err := s.Take(c.data)
			if DropReason(err) != c.reason {
				t.Fatalf("%v, want %s", err, c.reason)
			}
			s.Damaged(err)
			if err := s.Take(whole); err != nil {
				t.Fatal(err)
			}
			s.Publish(capture.Stamp{})
			st := a.Stats()
			if st.Dropped[c.reason] != 2 || len(st.Dropped) != 1 || st.Frames != 2 || st.Opens != 2 || !bytes.Equal(all["color/jpeg"].frames[0], whole) {
				t.Errorf("%+v", st)
			}
		})
	}
	t.Run("within the coded data", func(t *testing.T) {
		a, _ := watch("color", "color/jpeg")
		s := open(t, a, Config{Width: 64, Height: 48})
		if name, _ := s.Decoder(); name == string(jpeg.Go) {
			t.Skip("Go's decoder does not see it")
		}
		if err := s.Take(noise); jpeg.Reason(err) == "" {
			t.Errorf("%v", err)
		}
		if st := a.Stats(); st.Held != 0 {
			t.Errorf("%d slots held", st.Held)
		}
	})
	if r := DropReason(errors.New("x")); r != capture.DropDamaged {
		t.Errorf("%s", r)
	}
}

// Cameras leave the standard Huffman tables out. The pictures are the same, and
// the compressed frames go out as they came.
func TestNoHuffmanTables(t *testing.T) {
	a, all := watch("color", "color/jpeg")
	s := open(t, a, Config{Width: 64, Height: 48})
	whole := picture(t, 64, 48, 3)
	bare := without(t, whole, 0xc4)
	if len(bare) >= len(whole) {
		t.Fatal("there were no tables")
	}
	if err := s.Take(bare); err != nil {
		t.Fatal(err)
	}
	s.Publish(capture.Stamp{})
	if !bytes.Equal(all["color/jpeg"].frames[0], bare) || !bytes.Equal(all["color"].frames[0], decoded(t, whole, frame.BGR8, 64, 48)) {
		t.Error("frame changed, or picture wrong")
	}
}

// Other sizes and longer frames make new formats.
func TestRefit(t *testing.T) {
	a, all := watch("color", "color/jpeg")
	s := open(t, a, Config{Width: 64, Height: 48, MaxBytes: len(picture(t, 64, 48, 0)) + 500})
	long := picture(t, 64, 48, 0)
	long = slices.Insert(long, 2, append([]byte{0xff, 0xfe, 8, 2}, make([]byte, 0x800)...)...) // a comment
	for i, c := range []struct {
		data  []byte
		w, h  int
		opens int
	}{
		{picture(t, 64, 48, 0), 64, 48, 2},
		{picture(t, 80, 40, 1), 80, 40, 4},
		{picture(t, 80, 40, 2), 80, 40, 4},
		{picture(t, 64, 48, 3), 64, 48, 6},
		{long, 64, 48, 6},
		{picture(t, 16, 16, 3), 16, 16, 8},
	} {
		if err := s.Take(c.data); err != nil {
			t.Fatal(err)
		}
		s.Publish(capture.Stamp{})
		p, j := all["color"], all["color/jpeg"]
		if !bytes.Equal(j.frames[i], c.data) || !bytes.Equal(p.frames[i], decoded(t, c.data, frame.BGR8, c.w, c.h)) {
			t.Errorf("frame %d is wrong", i)
		}
		if g := j.format.Geometry; g.Width != c.w || g.Height != c.h || p.format.Geometry.Width != c.w {
			t.Errorf("frame %d: %v, %v", i, g, p.format.Geometry)
		}
		if n := a.Stats().Opens; n != c.opens {
			t.Errorf("frame %d: %d times opened, want %d", i, n, c.opens)
		}
	}
	t.Run("longer", func(t *testing.T) {
		a, all := watch("color", "color/jpeg")
		s := open(t, a, Config{Width: 64, Height: 48, MaxBytes: 1000})
		if err := s.Take(long); err != nil {
			t.Fatal(err)
		}
		s.Publish(capture.Stamp{})
		if j := all["color/jpeg"]; !bytes.Equal(j.frames[0], long) || j.format.Geometry.Max != 2*len(long) {
			t.Errorf("%d bytes, %v", len(j.frames[0]), j.format.Geometry)
		}
	})
}

// A stream without a slot loses the frame; the other one does not.
func TestNoSlot(t *testing.T) {
	for _, full := range []string{"color", "color/jpeg"} {
		t.Run(full, func(t *testing.T) {
			a, all := watch("color", "color/jpeg")
			a.full[full] = true
			s := open(t, a, Config{Width: 64, Height: 48})
			if err := s.Take(picture(t, 64, 48, 0)); err != nil {
				t.Fatal(err)
			}
			s.Publish(capture.Stamp{})
			if st := a.Stats(); st.Frames != 1 || len(all[full].frames) != 0 || !maps.Equal(st.Dropped, map[capture.DropReason]int{capture.DropNoSlot: 1}) {
				t.Errorf("%+v", st)
			}
		})
	}
}

func TestRefusedGeometry(t *testing.T) {
	a, _ := watch()
	for _, c := range []Config{
		{Stream: "color", Width: 0, Height: 48},
		{Stream: "color", Width: 64, Height: 48, Encoding: "what"},
		{Stream: "color", Width: 64, Height: 48, MaxBytes: -1},
	} {
		if s, err := Open(a, c); err == nil {
			s.Close()
			t.Errorf("%+v was taken", c)
		}
	}
}

func TestFramesDoNotAllocate(t *testing.T) {
	a, _ := watch("color", "color/jpeg")
	a.OnFrame = nil
	s := open(t, a, Config{Width: 64, Height: 48})
	if name, problem := s.Decoder(); name == string(jpeg.Go) {
		t.Skipf("Go's decoder allocates: %v", problem)
	}
	packet := without(t, picture(t, 64, 48, 0), 0xc4)
	slot, err := s.Compressed().Acquire()
	if err != nil {
		t.Fatal(err)
	}
	n := copy(slot.Data, packet)
	both := func() {
		if err := s.Take(packet); err != nil {
			t.Fatal(err)
		}
		s.Publish(capture.Stamp{})
		if err := s.TakeSlot(slot, n); err != nil {
			t.Fatal(err)
		}
		s.Publish(capture.Stamp{})
		if slot, err = s.Compressed().Acquire(); err != nil {
			t.Fatal(err)
		}
		copy(slot.Data, packet)
	}
	both()
	if n := testing.AllocsPerRun(200, both); n != 0 {
		t.Errorf("%v allocations for two frames", n)
	}
	s.Compressed().Discard(slot)
}

func ExampleDropReason() {
	_, err := jpeg.Validate([]byte{0xff, 0xd8}, jpeg.Limits{})
	fmt.Println(DropReason(err))
	// Output: damaged_truncated
}
