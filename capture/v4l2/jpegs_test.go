// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	std "image/jpeg"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/jpeg"
)

// photo is a JPEG that differs with n.
func photo(t *testing.T, width, height, n int) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.SetRGBA(x, y, color.RGBA{byte(x * 3), byte(y*5 + n), byte(x + y + 9*n), 255})
		}
	}
	var b bytes.Buffer
	if err := std.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bare takes the Huffman tables out.
func bare(t *testing.T, data []byte) []byte {
	t.Helper()
	for {
		i := bytes.Index(data, []byte{0xff, 0xc4})
		if i < 0 {
			return data
		}
		n := 2 + int(data[i+2])<<8 + int(data[i+3])
		data = append(bytes.Clone(data[:i]), data[i+n:]...)
	}
}

func pixels(t *testing.T, data []byte, g frame.Geometry) []byte {
	t.Helper()
	d, err := jpeg.NewDecoder(jpeg.Auto)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	dst := make([]byte, g.Size())
	if err := d.Decode(dst, g, data); err != nil {
		t.Fatal(err)
	}
	return dst
}

func motionJPEG(t *testing.T) *fakeDriver {
	f := newFake(t)
	f.formats = []fakeFormat{{code: code("MJPG"), flags: fmtFlagCompressed, sizes: []fakeSize{{64, 48, []uint32{30}}}}}
	return f
}

// photo makes the driver deliver a JPEG and checks what comes out of it.
func (r *session) photo(data []byte, encoding frame.Encoding, copied bool) {
	r.t.Helper()
	r.fill(filling{sequence: r.number, content: data})
	r.number++
	for _, stream := range []string{"color/jpeg", "color"} {
		f := r.next()
		if f.Stream != stream || f.Stamp.DriverSequence != uint64(r.number-1) {
			r.t.Fatalf("frame %d of %s, want %d of %s", f.Stamp.DriverSequence, f.Stream, r.number-1, stream)
		}
		if stream == "color" {
			if g := f.Format.Geometry; g.Encoding != encoding || !bytes.Equal(f.Data, pixels(r.t, data, g)) {
				r.t.Errorf("the picture of frame %d is wrong, %v", r.number-1, g)
			}
			continue
		}
		if !bytes.Equal(f.Data[:f.Stamp.Bytes], data) || (f.Stamp.CopiedBytes != 0) != copied {
			r.t.Errorf("frame %d is %d bytes, want those of %d; %d copied", r.number-1, f.Stamp.Bytes, len(data), f.Stamp.CopiedBytes)
		}
	}
}

func TestMotionJPEG(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*fakeDriver)
		text     string
		encoding frame.Encoding
		copied   bool
	}{
		{"in place", nil, "", frame.BGR8, false},
		{"in place, two buffers", func(f *fakeDriver) { f.most = 2 }, "", frame.BGR8, false},
		{"copied", nil, ",memory=mmap,encoding=jpeg", frame.BGR8, true},
		{"copied, as user pointers are refused", func(f *fakeDriver) { f.noUser = true }, ",encoding=rgb8", frame.RGB8, true},
		{"copied, as the memory is refused", func(f *fakeDriver) { f.failOnce[reqQueueBuf] = unix.EFAULT }, ",encoding=mono8", frame.Mono8, true},
		{"multi-planar in place", func(f *fakeDriver) { f.mplane = true }, "", frame.BGR8, false},
		{"multi-planar copied", func(f *fakeDriver) { f.mplane = true }, ",memory=mmap", frame.BGR8, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := motionJPEG(t)
			if c.change != nil {
				c.change(f)
			}
			s := newSource(t, f, c.text)
			r := start(t, f, s, 10)
			lose := func(data []byte, flags uint32) {
				r.fill(filling{sequence: r.number, content: data, flags: flags})
				r.number++
			}
			for n := range 10 {
				r.photo(photo(t, 64, 48, n), c.encoding, c.copied)
				r.photo(bare(t, photo(t, 64, 48, n)), c.encoding, c.copied)
				whole := photo(t, 64, 48, n)
				lose(whole[:len(whole)/2], 0)
				lose([]byte("garbage"), 0)
				lose(whole, bufFlagError)
			}
			r.photo(photo(t, 64, 48, 11), c.encoding, c.copied)
			f.settled(t)
			if err := r.end(); err != nil {
				t.Fatal(err)
			}
			st := r.sink.Stats()
			for _, reason := range []capture.DropReason{"damaged_truncated", "damaged_not_jpeg", "damaged"} {
				if st.Dropped[reason] != 2*10 {
					t.Errorf("%v, want 20 of %s", st.Dropped, reason)
				}
			}
			asked := c.encoding == frame.RGB8 || c.encoding == frame.Mono8
			if said := strings.Contains(s.Describe(), string(c.encoding)+" is decoded from MJPG"); said != asked {
				t.Errorf("described as %q", s.Describe())
			}
		})
	}
}

// Frames for which nobody has a slot are lost to both streams, and the driver
// keeps its buffers.
func TestMotionJPEGWithoutSlots(t *testing.T) {
	f := motionJPEG(t)
	r := start(t, f, newSource(t, f, ",buffers=2"), 10)
	r.photo(photo(t, 64, 48, 0), frame.BGR8, false)
	r.deny.Store(true)
	for range 5 {
		r.fill(filling{sequence: r.number, content: photo(t, 64, 48, 1)})
		r.number++
	}
	f.settled(t)
	r.deny.Store(false)
	r.photo(photo(t, 64, 48, 2), frame.BGR8, false)
	if n := r.sink.Stats().Dropped[capture.DropNoSlot]; n != 10 {
		t.Errorf("%d dropped, want 5 of each stream", n)
	}
}

// Pictures of another size than the driver granted are published as what they
// are: in place after a new beginning, and copied once they vary.
func TestMotionJPEGOfAnotherSize(t *testing.T) {
	f := motionJPEG(t)
	r := start(t, f, newSource(t, f, ""), 10)
	reopened := func(times int) {
		t.Helper()
		deadline := time.Now().Add(hung)
		for {
			f.mu.Lock()
			opened, queued := f.opened, len(f.queued)
			f.mu.Unlock()
			if opened == times && queued > 0 {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("opened %d times, want %d", opened, times)
			}
			<-time.After(time.Millisecond)
		}
	}
	r.photo(photo(t, 64, 48, 0), frame.BGR8, false)
	r.fill(filling{sequence: r.number, content: photo(t, 32, 24, 0)})
	reopened(2)
	r.photo(photo(t, 32, 24, 1), frame.BGR8, false)
	r.photo(photo(t, 32, 24, 2), frame.BGR8, false)
	r.fill(filling{sequence: r.number, content: photo(t, 64, 48, 3)})
	reopened(3)
	for n := range 3 {
		r.photo(photo(t, 64, 48, n), frame.BGR8, true)
		r.photo(photo(t, 32, 24, n), frame.BGR8, true)
	}

	// With memory=userptr that cannot be.
	f = motionJPEG(t)
	r = start(t, f, newSource(t, f, ",memory=userptr"), 10)
	r.fill(filling{content: photo(t, 32, 24, 0)})
	reopened(2)
	r.fill(filling{content: photo(t, 16, 16, 0)})
	reopened(3)
	r.fill(filling{content: photo(t, 32, 24, 0)})
	if err := r.wait(); !errors.Is(err, jpeg.ErrSize) {
		t.Errorf("%v, want %v", err, jpeg.ErrSize)
	}
}

func TestConverted(t *testing.T) {
	planes := []fakeFormat{{code: twoPlanes, sizes: []fakeSize{{64, 48, []uint32{30}}}}}
	for _, c := range []struct {
		name   string
		change func(*fakeDriver)
		text   string
		size   int // bytes of a frame
		copied int
		grey   byte // what 128 becomes
		says   string
	}{
		{"yuyv to rgb8", nil, ",encoding=rgb8", 64 * 48 * 3, 64 * 48 * 3, 130, "rgb8 is converted from yuv422_yuy2 (YUYV)"},
		{"padded rows", func(f *fakeDriver) {
			f.adjust = func(p *pixFormat) { p.BytesPerLine, p.SizeImage = 160, 160*48 }
		}, ",encoding=rgb8", 64 * 48 * 3, 64 * 48 * 3, 130, "rgb8 is converted"},
		{"yuyv to uyvy", nil, ",encoding=uyvy", 64 * 48 * 2, 64 * 48 * 2, 128, "yuv422 is converted from yuv422_yuy2 (YUYV)"},
		{"multi-planar", func(f *fakeDriver) { f.mplane = true }, ",encoding=bgra8", 64 * 48 * 4, 64 * 48 * 4, 130, "bgra8 is converted"},
		{"two planes", func(f *fakeDriver) { f.mplane, f.formats = true, planes }, ",encoding=rgb8", 64 * 48 * 3, 64*48*3 + 64*48*3/2, 130, "rgb8 is converted from nv12"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			f.formats = f.formats[:1]
			if c.change != nil {
				c.change(f)
			}
			s := newSource(t, f, c.text)
			r := start(t, f, s, 10)
			for range 10 {
				fr := r.frame(128)
				data := fr.Data
				if strings.Contains(c.text, "bgra8") { // without its alpha
					for i := 3; i < len(data); i += 4 {
						data[i] = c.grey
					}
				}
				if fr.Stream != "color" || len(data) != c.size || !all(data, c.grey) || fr.Stamp.CopiedBytes != c.copied {
					t.Fatalf("%d bytes of %d %d %d, %d copied", len(data), data[0], data[1], data[2], fr.Stamp.CopiedBytes)
				}
			}
			if !strings.Contains(s.Describe(), c.says) {
				t.Errorf("described as %q, want %q", s.Describe(), c.says)
			}
		})
	}
	t.Run("in place", func(t *testing.T) {
		f := newFake(t)
		f.formats = f.formats[:1]
		err := start(t, f, newSource(t, f, ",encoding=rgb8,memory=userptr"), 10).wait()
		if !errors.Is(err, capture.ErrUnsupported) || !strings.Contains(err.Error(), "rgb8 is converted") {
			t.Errorf("%v", err)
		}
	})
}

// unread is a sink whose streams nobody reads.
type unread struct{ capture.Sink }

type unreadWriter struct{ capture.Writer }

func (u unread) Open(stream string, f capture.Format) (capture.Writer, error) {
	w, err := u.Sink.Open(stream, f)
	return unreadWriter{w}, err
}

func (unreadWriter) Wanted() bool { return false }

// What costs copies is done for readers only.
func TestNoWorkForNobody(t *testing.T) {
	for name, text := range map[string]string{"converted": ",encoding=rgb8", "jpeg": ",encoding=jpeg,memory=mmap"} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.formats = []fakeFormat{{code: code("YUYV"), sizes: []fakeSize{{64, 48, nil}}}}
			if name == "jpeg" {
				f = motionJPEG(t)
			}
			s := newSource(t, f, text)
			done := make(chan error, 1)
			sink := &capturetest.Sink{Slots: 10, Alloc: f.alloc}
			go func() { done <- s.Run(t.Context(), unread{sink}) }()
			r := &session{t: t, f: f, sink: sink, done: done, cancel: func() {}}
			for n := range 20 {
				p := filling{sequence: uint32(n)}
				if name == "jpeg" {
					p.content = photo(t, 64, 48, n)
				}
				r.fill(p)
			}
			f.settled(t)
			if st := sink.Stats(); st.Frames != 0 || len(st.Dropped) != 0 {
				t.Errorf("%+v", st)
			}
			f.mu.Lock()
			f.fail[reqDequeueBuf] = unix.ENODEV
			f.mu.Unlock()
			f.signal()
			if err := r.wait(); !errors.Is(err, capture.ErrDeviceGone) {
				t.Error(err)
			}
		})
	}
}
