// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

const (
	cuda = negotiate.BackendCUDA
	shm  = negotiate.BackendSHM
)

// next takes the next frame, which must be that one.
func next(t testing.TB, s *Subscription, sequence uint64) Frame {
	t.Helper()
	f, err := s.Next(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	if f.Meta().Sequence != sequence {
		t.Fatalf("got frame %d, want %d", f.Meta().Sequence, sequence)
	}
	return f
}

func released(t testing.TB, f Frame) {
	t.Helper()
	if err := f.Release(); err != nil {
		t.Error(err)
	}
}

// ways are those in which frames can reach the GPU.
func ways(t *testing.T, run func(t *testing.T, d *daemon, count func(Counts) uint64)) {
	t.Run("cuda", func(t *testing.T) {
		rules(t)
		run(t, newDaemon(t, cuda), func(c Counts) uint64 { return c.InPlace })
	})
	t.Run("shm", func(t *testing.T) {
		rules(t)
		run(t, newDaemon(t, shm), func(c Counts) uint64 { return c.Registered })
	})
	t.Run("shm not registered", func(t *testing.T) {
		rules(t)
		sim.Inject(t, simDir, "cuMemHostRegister_v2:0:801")
		defer sim.Inject(t, simDir, "")
		run(t, newDaemon(t, shm), func(c Counts) uint64 { return c.Staged })
	})
}

// A program that queues its work and releases the frame at once has read that
// frame and no other, whatever the delays, on each of two streams.
func TestOnDevice(t *testing.T) {
	ways(t, func(t *testing.T, d *daemon, count func(Counts) uint64) {
		dev := opened(t)
		s := d.subscribe(dev)
		if p := s.Path(); p.Backend != d.offers[0] || (p.GPU == sim.UUID(1)) != (p.Backend == cuda) {
			t.Errorf("path %+v", p)
		}
		a, b := newStream(t, dev), newStream(t, dev)
		const frames = 20
		size := testWidth * testHeight
		out := pinned(t, dev, frames*2*size)
		for i := range frames {
			f := next(t, s, d.publish())
			v, err := f.OnDevice(a)
			if err != nil {
				t.Fatal(err)
			}
			if v.Bytes != size || v.Pitch != testWidth || v.Plane(0) != (Plane{v.Ptr, testWidth, testWidth, testHeight}) {
				t.Fatalf("view %+v", v)
			}
			if err := f.UseOn(b); err != nil {
				t.Fatal(err)
			}
			do(t, dev, func(th *driver.Thread) error {
				at := i * 2 * size
				return errors.Join(th.DtoH(out[at:at+size], v.Ptr, a), th.DtoH(out[at+size:at+2*size], v.Ptr, b))
			})
			released(t, f)
		}
		if err := errors.Join(dev.Synchronize(a), dev.Synchronize(b)); err != nil {
			t.Fatal(err)
		}
		for i := range 2 * frames {
			if got := out[i*size : (i+1)*size]; !bytes.Equal(got, bytes.Repeat([]byte{byte(i/2 + 1)}, size)) {
				t.Fatalf("frame %d is not whole in what stream %d read: %d .. %d", i/2+1, i%2, got[0], got[size-1])
			}
		}
		if c := s.Counts(); count(c) != frames || c.Open != 0 || c.Stale != 0 || c.Failed != 0 {
			t.Errorf("counts %+v", c)
		}
	})
}

func TestCopyToHost(t *testing.T) {
	ways(t, func(t *testing.T, d *daemon, _ func(Counts) uint64) {
		dev := opened(t)
		s := d.subscribe(dev)
		dst := make([]byte, testWidth*testHeight+7)
		for range 5 {
			seq := d.publish()
			f := next(t, s, seq)
			if (f.Data() == nil) != (s.Path().Backend == cuda) {
				t.Errorf("%d bytes of data by %s", len(f.Data()), s.Path().Backend)
			}
			n, err := f.CopyToHost(dst)
			if err != nil || n != testWidth*testHeight || !bytes.Equal(dst[:n], bytes.Repeat([]byte{byte(seq)}, n)) {
				t.Fatalf("frame %d: %d bytes, the first is %d: %v", seq, n, dst[0], err)
			}
			if _, err := f.CopyToHost(dst[:10]); !errors.Is(err, io.ErrShortBuffer) {
				t.Errorf("into 10 bytes: %v", err)
			}
			released(t, f)
		}
	})
}

// What a frame costs once it runs: no allocation, and these calls of the driver
// beside the ones that ask whether work is done.
func TestCostOfAFrame(t *testing.T) {
	calls := map[negotiate.Backend]uint64{
		cuda: 1, // mark the end of the program's work
		shm:  4, // copy, mark its end, have the stream wait for that; and as above
	}
	ways(t, func(t *testing.T, d *daemon, _ func(Counts) uint64) {
		dev := opened(t)
		s := d.subscribe(dev)
		stream := newStream(t, dev)
		use := func() {
			want := d.publish()
			f, err := s.Next(t.Context())
			if err != nil || f.Meta().Sequence != want {
				t.Fatal(f.Meta().Sequence, err)
			}
			if _, err := f.OnDevice(stream); err != nil {
				t.Fatal(err)
			}
			if err := f.Release(); err != nil {
				t.Fatal(err)
			}
		}
		var first [testCredit]Frame // as many as there can be have what they need then
		for i := range first {
			first[i] = next(t, s, d.publish())
			if _, err := first[i].OnDevice(stream); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range first {
			released(t, f)
		}
		use()
		const frames = 40
		before := dev.engine.submit.Calls()
		if n := testing.AllocsPerRun(frames-1, use); n != 0 && !raceDetector {
			t.Errorf("%v allocations for a frame", n)
		}
		if n := dev.engine.submit.Calls() - before; n != frames*calls[d.offers[0]] {
			t.Errorf("%d calls of the driver for %d frames", n, frames)
		}
		for s.Counts().Waiting > 0 {
			runtime.Gosched()
		}
		before = dev.engine.submit.Calls() + dev.engine.watch.Calls()
		for range 5 {
			released(t, next(t, s, d.publish()))
		}
		if n := dev.engine.submit.Calls() + dev.engine.watch.Calls() - before; n != 0 {
			t.Errorf("%d calls for frames that the GPU does not use", n)
		}
	})
}

// The format changes while the GPU works on a frame of the one before.
func TestChangeOfFormat(t *testing.T) {
	ways(t, func(t *testing.T, d *daemon, _ func(Counts) uint64) {
		dev := opened(t)
		s := d.subscribe(dev)
		stream := newStream(t, dev)
		old := next(t, s, d.publish())
		out := pinned(t, dev, testWidth*testHeight)
		v, err := old.OnDevice(stream)
		if err != nil {
			t.Fatal(err)
		}
		d.reconfigure(testHeight / 2)
		seq := d.publish()
		f := next(t, s, seq)
		if f.Meta().Flags&frame.Discontinuity == 0 || f.Geometry().Height != testHeight/2 {
			t.Errorf("%v, flags %v", f.Geometry(), f.Meta().Flags)
		}
		fresh, err := f.OnDevice(stream)
		if err != nil || fresh.Bytes != testWidth*testHeight/2 {
			t.Fatalf("%+v: %v", fresh, err)
		}
		do(t, dev, func(th *driver.Thread) error { return th.DtoH(out, v.Ptr, stream) })
		released(t, old)
		released(t, f)
		if err := dev.Synchronize(stream); err != nil || !bytes.Equal(out, bytes.Repeat([]byte{1}, len(out))) {
			t.Errorf("the old frame is %d .. %d: %v", out[0], out[len(out)-1], err)
		}
	})
}

// The daemon goes, and all that it had on the GPU, while the GPU works on a frame
// of its: what is mapped here stays until the work is complete.
func TestDaemonGone(t *testing.T) {
	rules(t)
	d := newDaemon(t, cuda)
	dev := opened(t)
	lost := make(chan struct{}, 64)
	s := d.subscribe(dev, client.WithAccept(cuda), client.WithRequire(cuda), client.WithEvents(func(e client.Event) {
		if e.Kind == client.EventDisconnected {
			lost <- struct{}{}
		}
	}))
	stream := newStream(t, dev)
	f := next(t, s, d.publish())
	v, err := f.OnDevice(stream)
	if err != nil {
		t.Fatal(err)
	}
	d.hangUp()
	<-lost
	e := d.rings[cuda]
	d.must(func(t *driver.Thread) error { return errors.Join(e.writer.Close(t), e.device.Close(t)) })
	out := pinned(t, dev, v.Bytes)
	do(t, dev, func(th *driver.Thread) error { return th.DtoH(out, v.Ptr, stream) })
	released(t, f)
	if err := dev.Synchronize(stream); err != nil || !bytes.Equal(out, bytes.Repeat([]byte{1}, len(out))) {
		t.Errorf("the frame is %d .. %d: %v", out[0], out[len(out)-1], err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := sim.Memory(t, simDir); n != 0 {
		t.Errorf("%d bytes of device memory are left", n)
	}
}

func TestMisuse(t *testing.T) {
	ways(t, func(t *testing.T, d *daemon, _ func(Counts) uint64) {
		dev := opened(t)
		s := d.subscribe(dev)
		stream := newStream(t, dev)
		f := next(t, s, d.publish())
		for _, none := range []Stream{0, 1, 2} {
			if _, err := f.OnDevice(none); !errors.Is(err, ErrStream) {
				t.Errorf("on the default stream %d: %v", none, err)
			}
		}
		if err := dev.DestroyStream(stream + 1); !errors.Is(err, ErrStream) {
			t.Errorf("destroying a stream of somebody else's: %v", err)
		}
		if err := dev.Close(); !errors.Is(err, ErrInUse) {
			t.Errorf("closing the device below a subscription: %v", err)
		}
		if _, err := f.OnDevice(stream); err != nil {
			t.Fatal(err)
		}
		if f.Released() || f.Subscription() != s {
			t.Error("a frame that is held says that it is released, or of another subscription")
		}
		released(t, f)
		if !f.Released() || !(Frame{}).Released() || (Frame{}).Subscription() != nil {
			t.Error("a frame that was released, or none, says that it is held")
		}
		if err := f.Release(); !errors.Is(err, ErrReleased) {
			t.Errorf("second Release: %v", err)
		}
		if _, err := f.OnDevice(stream); !errors.Is(err, ErrReleased) {
			t.Errorf("use after Release: %v", err)
		}
		if _, err := f.CopyToHost(nil); !errors.Is(err, ErrReleased) {
			t.Errorf("copy after Release: %v", err)
		}
		if err := (Frame{}).Release(); !errors.Is(err, ErrReleased) {
			t.Errorf("Release of nothing: %v", err)
		}
		// Its inside is another frame's now.
		for range 2 * testCredit {
			released(t, next(t, s, d.publish()))
			if err := f.Release(); !errors.Is(err, ErrReleased) {
				t.Fatalf("Release of a frame that was: %v", err)
			}
		}
	})
}

// A stream that is destroyed below a frame is said; the frame comes back.
func TestDestroyedStream(t *testing.T) {
	for _, b := range []negotiate.Backend{cuda, shm} {
		t.Run(string(b), func(t *testing.T) {
			rules(t, "S15")
			d := newDaemon(t, b)
			dev := opened(t)
			s := d.subscribe(dev)
			stream := newStream(t, dev)
			f := next(t, s, d.publish())
			if _, err := f.OnDevice(stream); err != nil {
				t.Fatal(err)
			}
			if err := dev.DestroyStream(stream); err != nil {
				t.Fatal(err)
			}
			if err := f.Release(); !errors.Is(err, ErrStream) {
				t.Errorf("Release: %v", err)
			}
			for range 3 * testCredit { // with no credit left this would not end
				f := next(t, s, d.publish())
				if _, err := f.OnDevice(stream); b == shm && !errors.Is(err, ErrStream) {
					t.Errorf("on a stream that is not there: %v", err)
				}
				_ = f.Release()
			}
			if c := s.Counts(); c.Failed == 0 {
				t.Errorf("counts %+v", c)
			}
		})
	}
}

// Frames that are never released are told by Close, and the rest of it is done
// once they are.
func TestLeak(t *testing.T) {
	rules(t)
	d := newDaemon(t, cuda)
	dev := opened(t)
	s := d.subscribe(dev)
	f := next(t, s, d.publish())
	if err := s.Close(); !errors.Is(err, client.ErrLeaked) || !errors.Is(err, ErrInUse) {
		t.Errorf("Close with a frame: %v", err)
	}
	if err := dev.Close(); !errors.Is(err, ErrInUse) {
		t.Errorf("closing the device: %v", err)
	}
	released(t, f)
	if err := s.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}

// The loop gives frames back, also those that the body has released.
func TestFramesLoop(t *testing.T) {
	rules(t)
	d := newDaemon(t, cuda, shm)
	dev := opened(t)
	s := d.subscribe(dev)
	stream := newStream(t, dev)
	d.publish()
	n := 0
	for f, err := range s.Frames(bounded(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.OnDevice(stream); err != nil {
			t.Fatal(err)
		}
		if n++; n == 3*testCredit {
			break
		}
		if n%2 == 0 {
			released(t, f)
		}
		d.publish()
	}
	if c := s.Counts(); c.Open != 0 || c.InPlace != 3*testCredit {
		t.Errorf("counts %+v", c)
	}
}
