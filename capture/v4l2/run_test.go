// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/dl"
)

func TestFrames(t *testing.T) {
	nv12 := []fakeFormat{{code: twoPlanes, sizes: []fakeSize{{64, 48, []uint32{30}}}}}
	for _, c := range []struct {
		name   string
		change func(*fakeDriver)
		text   string
		slots  int
		memory string
		size   int // bytes of a frame
		repins bool
	}{
		{"in place", nil, "", 10, "userptr", 64 * 48 * 2, false},
		{"in place, one slot more than buffers with the driver", nil, "", 5, "userptr", 64 * 48 * 2, false},
		{"in place, more slots than buffers", func(f *fakeDriver) { f.most = 6 }, "", 30, "userptr", 64 * 48 * 2, true},
		{"in place, two buffers granted", func(f *fakeDriver) { f.most = 2 }, "", 10, "userptr", 64 * 48 * 2, true},
		{"in place, one buffer granted", func(f *fakeDriver) { f.most = 1 }, "", 10, "userptr", 64 * 48 * 2, true},
		{"in place, larger images than frames", func(f *fakeDriver) {
			f.adjust = func(p *pixFormat) { p.SizeImage += 10_000 }
		}, "", 10, "userptr", 64 * 48 * 2, false},
		{"in place, padded rows", func(f *fakeDriver) {
			f.adjust = func(p *pixFormat) { p.BytesPerLine, p.SizeImage = 160, 160*48 }
		}, "", 10, "userptr", 160 * 48, false},
		{"copied, padded rows", func(f *fakeDriver) {
			f.adjust = func(p *pixFormat) { p.BytesPerLine, p.SizeImage = 160, 160*48 }
		}, ",memory=mmap", 10, "mmap", 160 * 48, false},
		{"copied", nil, ",memory=mmap", 10, "mmap", 64 * 48 * 2, false},
		{"copied, as user pointers are refused", func(f *fakeDriver) { f.noUser = true }, "", 10, "mmap", 64 * 48 * 2, false},
		{"copied, as the memory is refused", func(f *fakeDriver) { f.failOnce[reqQueueBuf] = unix.EFAULT }, "", 10, "mmap", 64 * 48 * 2, false},
		{"copied, as images are far larger than frames", func(f *fakeDriver) {
			f.adjust = func(p *pixFormat) { p.SizeImage = 5 << 20 }
		}, "", 10, "mmap", 64 * 48 * 2, false},
		{"multi-planar in place", func(f *fakeDriver) { f.mplane = true }, "", 10, "userptr", 64 * 48 * 2, false},
		{"multi-planar copied", func(f *fakeDriver) { f.mplane = true }, ",memory=mmap", 10, "mmap", 64 * 48 * 2, false},
		{"two planes in place", func(f *fakeDriver) { f.mplane, f.formats = true, nv12 }, "", 10, "userptr", 64 * 48 * 3 / 2, false},
		{"two planes copied", func(f *fakeDriver) { f.mplane, f.formats = true, nv12 }, ",memory=mmap", 10, "mmap", 64 * 48 * 3 / 2, false},
		{"a rate that nobody tells", func(f *fakeDriver) { f.noParm = true }, "", 10, "userptr", 64 * 48 * 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			if c.change != nil {
				c.change(f)
			}
			r := start(t, f, newSource(t, f, c.text), c.slots)
			for i := range 40 {
				fr := r.frame(byte(i + 1))
				copied := 0
				if c.memory == "mmap" {
					copied = c.size
				}
				switch {
				case len(fr.Data) != c.size || !all(fr.Data, byte(i+1)):
					t.Fatalf("frame %d: %d bytes beginning with %v, want %d of %d", i, len(fr.Data), fr.Data[:4], c.size, i+1)
				case fr.Stamp.CopiedBytes != copied:
					t.Fatalf("frame %d: %d bytes copied, want %d", i, fr.Stamp.CopiedBytes, copied)
				case fr.Stamp.DriverSequence != uint64(i):
					t.Fatalf("frame %d: driver sequence %d", i, fr.Stamp.DriverSequence)
				}
			}
			if err := r.end(); err != nil {
				t.Fatal(err)
			}
			if (f.repinned > 0) != c.repins {
				t.Errorf("%d slots came under another index than before", f.repinned)
			}
			if d := r.sink.Stats().Dropped; len(d) != 0 {
				t.Errorf("%v dropped", d)
			}
		})
	}
}

// Frames are rather dropped than the driver left without buffers.
func TestNoSlot(t *testing.T) {
	for _, memory := range []string{"userptr", "mmap"} {
		t.Run(memory, func(t *testing.T) {
			f := newFake(t)
			r := start(t, f, newSource(t, f, ",memory="+memory), 10)
			r.frame(1)
			r.deny.Store(true)
			published := 1
			for range 20 {
				r.fill(filling{sequence: r.number, value: 2})
				r.number++
				f.settled(t)
			}
			r.deny.Store(false)
			r.fill(filling{sequence: r.number, value: 3})
			for fr := r.next(); fr.Data[0] != 3; fr = r.next() {
				published++
			}
			if err := r.end(); err != nil {
				t.Fatal(err)
			}
			st := r.sink.Stats()
			if st.Dropped[capture.DropNoSlot] != 21-published || len(st.Dropped) != 1 || st.Frames != published+1 {
				t.Errorf("%+v, %d published", st, published)
			}
		})
	}
}

func TestDamaged(t *testing.T) {
	for _, c := range []struct {
		name string
		bad  filling
	}{
		{"flagged", filling{flags: bufFlagError}},
		{"flagged and short", filling{flags: bufFlagError, used: 1}},
		{"short", filling{used: 64*48*2 - 1}},
	} {
		for _, memory := range []string{"userptr", "mmap"} {
			t.Run(c.name+" "+memory, func(t *testing.T) {
				f := newFake(t)
				r := start(t, f, newSource(t, f, ",memory="+memory), 10)
				r.frame(1)
				for range 20 { // more than there are slots and buffers
					bad := c.bad
					bad.sequence, bad.value = r.number, 0xee
					r.number++
					r.fill(bad)
				}
				if fr := r.frame(2); !all(fr.Data, 2) {
					t.Errorf("%v", fr.Data[:4])
				}
				if err := r.end(); err != nil {
					t.Fatal(err)
				}
				if st := r.sink.Stats(); st.Dropped[capture.DropDamaged] != 20 || st.Frames != 2 || len(st.Dropped) != 1 {
					t.Errorf("%+v", st)
				}
			})
		}
	}
}

// The last row may come without its padding.
func TestLastRowWithoutPadding(t *testing.T) {
	f := newFake(t)
	f.adjust = func(p *pixFormat) { p.BytesPerLine, p.SizeImage = 160, 160*48 }
	r := start(t, f, newSource(t, f, ",memory=mmap"), 10)
	r.fill(filling{used: 160*47 + 128, value: 5})
	if fr := r.next(); !all(fr.Data[:160*47+128], 5) || fr.Stamp.CopiedBytes != 160*47+128 {
		t.Errorf("%d bytes copied", fr.Stamp.CopiedBytes)
	}
}

func TestSequenceGaps(t *testing.T) {
	f := newFake(t)
	r := start(t, f, newSource(t, f, ""), 10)
	for _, n := range []uint32{10, 11, 14, 14, 13, 15} { // 2 lost; a repeat and a step back
		r.fill(filling{sequence: n, value: 1})
		r.next()
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if d := r.sink.Stats().Dropped[capture.DropDevice]; d != 3 { // 12, 13 and the second 14
		t.Errorf("%d dropped by the device", d)
	}
}

func TestDriverFails(t *testing.T) {
	for _, c := range []struct {
		name    string
		request uint
		errno   error
		is      error
		says    string
	}{
		{"open of what is not there", 0, unix.ENOENT, capture.ErrDeviceNotFound, "/dev/null"},
		{"open without permission", 0, unix.EACCES, unix.EACCES, `in the group "video"`},
		{"no video device", reqQueryCap, unix.ENOTTY, capture.ErrConfig, "not a video device"},
		{"busy format", reqSetFmt, unix.EBUSY, ErrBusy, "is used by"},
		{"busy buffers", reqReqBufs, unix.EBUSY, ErrBusy, "is used by"},
		{"bus is full", reqStreamOn, unix.ENOSPC, ErrNoBandwidth, "take MJPG, a smaller size"},
		{"start fails", reqStreamOn, unix.EIO, ErrIO, "cable"},
		{"start of what is gone", reqStreamOn, unix.ENODEV, capture.ErrDeviceGone, "unplugged"},
		{"gone before", reqEnumFmt, unix.ENODEV, capture.ErrDeviceGone, "unplugged"},
		{"gone at its sizes", reqEnumSizes, unix.ENODEV, capture.ErrDeviceGone, "unplugged"},
		{"gone at its rates", reqEnumIntervals, unix.ENODEV, capture.ErrDeviceGone, "unplugged"},
		{"gone at its rate", reqGetParm, unix.ENODEV, capture.ErrDeviceGone, "unplugged"},
		{"refuses every format", reqSetFmt, unix.EINVAL, capture.ErrFormatRefused, "YUYV"},
		{"no signal", reqQueryTimings, unix.ENOLINK, ErrNoSignal, "its source is off"},
		{"unstable signal", reqQueryTimings, unix.ENOLCK, ErrNoSignal, "not stable"},
		{"signal out of range", reqQueryTimings, unix.ERANGE, ErrNoSignal, "lower its size or rate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			f.inputs = []input{{Capabilities: inputCapTimings}}
			if c.request == 0 {
				f.failOnce[0] = c.errno
			} else {
				f.fail[c.request] = c.errno
			}
			err := start(t, f, newSource(t, f, ""), 10).wait()
			if !errors.Is(err, c.is) || !errors.Is(err, c.errno) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %v that says %q", err, c.is, c.says)
			}
		})
	}
}

// What goes wrong while frames come ends the run and says what it was.
func TestStreamFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		errno  error // of DQBUF
		events int16
		is     error
	}{
		{"unplugged", unix.ENODEV, unix.POLLERR | unix.POLLHUP, capture.ErrDeviceGone},
		{"fatal error of the driver", unix.EIO, unix.POLLERR, ErrIO},
		{"hung up without a word", nil, unix.POLLHUP, capture.ErrDeviceGone},
		{"an error without a name", nil, unix.POLLERR, ErrIO},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			s := newSource(t, f, "")
			r := start(t, f, s, 10)
			r.frame(1)
			f.mu.Lock()
			if c.errno != nil {
				f.fail[reqDequeueBuf] = c.errno
			}
			f.mu.Unlock()
			f.trouble(c.events)
			if err := r.wait(); !errors.Is(err, c.is) {
				t.Fatalf("%v, want %v", err, c.is)
			}
			// The next run begins anew.
			f.unsignal()
			f.revents = 0
			delete(f.fail, reqDequeueBuf)
			r = start(t, f, s, 10)
			r.frame(2)
		})
	}
}

// Being unplugged shows as an invalid request at first.
func TestUnpluggedUnderARequest(t *testing.T) {
	for name, request := range map[string]uint{"QBUF": reqQueueBuf, "DQBUF": reqDequeueBuf} {
		for gone, want := range map[error]error{unix.ENODEV: capture.ErrDeviceGone, nil: unix.EINVAL} {
			t.Run(name, func(t *testing.T) {
				f := newFake(t)
				r := start(t, f, newSource(t, f, ""), 10)
				r.frame(1)
				f.mu.Lock()
				f.fail[request], f.fail[reqQueryCap] = unix.EINVAL, gone
				f.mu.Unlock()
				r.fill(filling{sequence: 1})
				if err := r.wait(); !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			})
		}
	}
}

func TestDriverReturnsWrongBuffers(t *testing.T) {
	for _, c := range []struct {
		name  string
		index int
	}{
		{"beyond those granted", 32},
		{"far beyond", 1 << 30},
		{"one that it was not given", 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			r := start(t, f, newSource(t, f, ""), 10)
			r.frame(1)
			r.fill(filling{index: c.index})
			if err := r.wait(); !errors.Is(err, errBadIndex) {
				t.Errorf("%v, want %v", err, errBadIndex)
			}
		})
	}
}

// The driver claims more bytes than its buffer has.
func TestNeverReadsBeyondTheBuffer(t *testing.T) {
	f := newFake(t)
	f.memBytes = 64*48*2 - 100
	err := start(t, f, newSource(t, f, ",memory=mmap"), 10).wait()
	if err == nil || !strings.Contains(err.Error(), "a frame takes 6144") {
		t.Errorf("%v; want a refusal of the small buffer", err)
	}

	f = newFake(t)
	r := start(t, f, newSource(t, f, ",memory=mmap"), 10)
	r.fill(filling{used: 1 << 20, value: 3})
	if fr := r.next(); fr.Stamp.CopiedBytes != 64*48*2 || !all(fr.Data, 3) {
		t.Errorf("%d bytes copied of a buffer of %d", fr.Stamp.CopiedBytes, 64*48*2)
	}
}

// Stopping does not wait for a frame.
func TestStopWhileStalled(t *testing.T) {
	f := newFake(t)
	r := start(t, f, newSource(t, f, ""), 10)
	r.frame(1)
	if err := r.end(); err != nil { // no frame comes any more
		t.Error(err)
	}
}

// A changed signal is followed within the run.
func TestSignalChanges(t *testing.T) {
	f := newFake(t)
	f.inputs = []input{{Capabilities: inputCapTimings}}
	f.formats = []fakeFormat{{code: code("YUYV"), grid: true, sizes: []fakeSize{{640, 480, nil}}}}
	r := start(t, f, newSource(t, f, ""), 10)
	if fr := r.frame(1); fr.Format.Geometry.Width != 64 {
		t.Fatalf("%v", fr.Format.Geometry)
	}
	f.mu.Lock()
	f.events = 1
	f.current.Width = 128
	f.mu.Unlock()
	f.trouble(unix.POLLPRI)
	for {
		f.mu.Lock()
		opened := f.opened
		f.mu.Unlock()
		if opened == 2 {
			break
		}
		select {
		case err := <-r.done:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	f.unsignal()
	if fr := r.frame(2); fr.Format.Geometry.Width != 128 {
		t.Errorf("%v, want the new width", fr.Format.Geometry)
	}
}

func TestStrict(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"size", ",60x40", "size 64x48 instead of 60x40"},
		{"rate", ",64x48@20", "rate 30 instead of 20"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			s := newSource(t, f, c.text)
			r := start(t, f, s, 10)
			r.frame(1)
			if d := s.Describe(); !strings.Contains(d, c.says) {
				t.Errorf("%q does not say %q", d, c.says)
			}
			_ = r.end()
			err := start(t, f, newSource(t, f, c.text+",strict=true"), 10).wait()
			if !errors.Is(err, capture.ErrFormatRefused) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "64x48 @30,15") {
				t.Errorf("%v; want %v that says %q and what there is", err, capture.ErrFormatRefused, c.says)
			}
		})
	}
}

// A frame costs no memory.
func TestStepAllocatesNothing(t *testing.T) {
	for _, c := range []struct {
		name, options string
		jpeg          bool
	}{
		{"userptr", ",memory=userptr", false},
		{"mmap", ",memory=mmap", false},
		{"converted", ",encoding=rgb8", false},
		{"userptr jpeg", ",memory=userptr", true},
		{"mmap jpeg", ",memory=mmap", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			f.formats = f.formats[:1]
			p, streams := filling{value: 1}, 1
			if c.jpeg {
				if !dl.Available {
					t.Skip("Go's decoder allocates")
				}
				f = motionJPEG(t)
				p.content, streams = photo(t, 64, 48, 0), 2
			}
			s := newSource(t, f, c.options)
			d, err := s.openDevice()
			if err != nil {
				t.Fatal(err)
			}
			r := &recorder{Source: s, d: d}
			defer r.close()
			if err := r.prepare(); err != nil {
				t.Fatal(err)
			}
			sink := f.sink(10)
			if err := r.begin(sink); err != nil {
				t.Fatal(err)
			}
			l := &loop{d: d, q: r.q, t: r.t, w: r.drops, log: s.Log, stopped: -1, clock: frame.ClockMonotonic, patient: time.Second}
			frames := 0
			sink.OnFrame = func(capturetest.Frame) { frames++ }
			if a := testing.AllocsPerRun(100, func() {
				f.produce(p)
				p.sequence++
				if err := l.step(); err != nil {
					t.Fatal(err)
				}
			}); a != 0 {
				t.Errorf("%g allocations a frame", a)
			}
			if frames != 101*streams {
				t.Errorf("%d frames", frames)
			}
		})
	}
}
