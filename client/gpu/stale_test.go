// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"testing"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// takeBack gives the slots of all frames away, as a daemon does with those of a
// subscriber that was evicted and does not end.
func (d *daemon) takeBack() {
	d.t.Helper()
	d.mu.Lock()
	r, rd := d.rings[d.taken], d.reader
	d.mu.Unlock()
	rd.Remove()
	for range r.Layout().Slots - 1 { // one is the newest frame's
		slot, err := r.Acquire()
		if err != nil {
			d.t.Fatal(err)
		}
		defer r.Discard(slot)
	}
}

// A frame that was taken back by force is told as stale by what is made of it:
// by reading back, and after the work of the GPU.
func TestStaleFrames(t *testing.T) {
	rules(t)
	d := newDaemon(t, cuda)
	dev := opened(t)
	s := d.subscribe(dev)
	stream := newStream(t, dev)
	f := next(t, s, d.publish())
	d.publish() // the one that is kept
	dst := make([]byte, testWidth*testHeight)
	if _, err := f.CopyToHost(dst); err != nil {
		t.Fatal(err)
	}
	if _, err := f.OnDevice(stream); err != nil {
		t.Fatal(err)
	}
	d.takeBack()
	if _, err := f.CopyToHost(dst); !errors.Is(err, client.ErrStaleFrame) {
		t.Errorf("reading back: %v", err)
	}
	released(t, f)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if c := s.Counts(); c.Stale != 1 {
		t.Errorf("counts %+v", c)
	}
}

// Close waits for the GPU.
func TestCloseWaitsForWork(t *testing.T) {
	rules(t)
	d := newDaemon(t, cuda)
	dev := opened(t)
	s := d.subscribe(dev)
	stream := newStream(t, dev)
	out := pinned(t, dev, testWidth*testHeight)
	f := next(t, s, d.publish())
	v, err := f.OnDevice(stream)
	if err != nil {
		t.Fatal(err)
	}
	do(t, dev, func(th *driver.Thread) error {
		var errs []error
		for range 10 {
			errs = append(errs, th.DtoH(out, v.Ptr, stream))
		}
		return errors.Join(errs...)
	})
	released(t, f)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if c := s.Counts(); c.Waiting != 0 {
		t.Errorf("after Close the GPU works on %d frames", c.Waiting)
	}
}

// A GPU that failed is none for the next daemon that is asked.
func TestHelloOfLostGPU(t *testing.T) {
	rules(t)
	dev := opened(t)
	newStream(t, dev)
	var h negotiate.Hello
	dev.Hello(&h)
	if h.DeviceReason != "" || len(h.GPUs) != 2 {
		t.Errorf("before: %+v", h)
	}
	err := dev.engine.note(&driver.Error{Call: "cuEventQuery", Code: driver.LaunchFailed})
	h = negotiate.Hello{}
	dev.Hello(&h)
	if !errors.Is(err, ErrLost) || h.DeviceReason != negotiate.ReasonGPULost || h.DeviceDetail == "" || len(h.GPUs) != 0 {
		t.Errorf("after %v: %+v", err, h)
	}
	dev.engine.lost = nil // it is not
}

// Work that writes to a frame does not get through.
func TestFramesAreReadOnly(t *testing.T) {
	before := len(sim.Reports(t, simDir))
	d := newDaemon(t, cuda)
	env, _ := sim.Env(t, sim.Options{Dir: simDir, Profile: "two-gpus"})
	r := run(t, d, append(env, EnvLibrary+"="+sim.Build(t), helperVariable+"="+d.dir, writeVariable+"=1"))
	excepted = append(excepted, r.PID) // its GPU is lost
	if r.Path.Backend != cuda || !r.Lost {
		t.Errorf("got %+v", r)
	}
	for _, b := range sim.Reports(t, simDir)[before:] {
		if b.Rule != "S27" || b.PID != r.PID {
			t.Errorf("rule broken: %v", b)
		}
	}
}
