// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/internal/alone"
	"github.com/seed-3c7e7623/camd/internal/dl"
)

// simulated runs f with a simulated driver in a process of its own, which reads
// the options once, and holds the reports on it against the rules that it is to
// break.
func simulated(t *testing.T, o sim.Options, f func(d *Driver, err error), rules ...string) {
	t.Helper()
	if !dl.Available {
		t.Skip("built without libraries")
	}
	build := sim.Build
	if o.Profile == "old-driver" {
		build = sim.BuildOld
	}
	library := build(t)
	var dir string
	if os.Getenv("CUDASIM_DIR") == "" {
		dir = sim.Setenv(t, o)
		t.Setenv("GORACE", "atexit_sleep_ms=0") // it sleeps a second at each end
	}
	if alone.Run(t) {
		f(Open(library))
		return
	}
	sim.Clean(t, dir, rules...)
	sim.NoLeaks(t, dir)
	for _, rule := range rules {
		if !slices.ContainsFunc(sim.Reports(t, dir), func(r sim.Report) bool { return r.Rule == rule }) {
			t.Errorf("%s is not reported", rule)
		}
	}
}

func TestProfiles(t *testing.T) {
	for _, c := range []struct {
		profile string
		err     error
		is      func(Device) bool
	}{
		{"no-driver", ErrNoDevice, nil},
		{"mismatch", ErrMismatch, nil},
		{"stub", ErrStub, nil},
		{"not-ready", ErrNotReady, nil},
		{"old-driver", nil, func(d Device) bool { return !d.VMM && !d.PosixFD && d.UUID.String() == sim.UUID(0) }},
		{"no-vmm", nil, func(d Device) bool { return !d.VMM && !d.PosixFD }},
		{"no-ipc", nil, func(d Device) bool { return d.VMM && !d.PosixFD }},
		{"jetson", nil, func(d Device) bool { return d.Integrated }},
		{"discrete", nil, func(d Device) bool {
			return !d.Integrated && d.VMM && d.PosixFD && d.HostRegister && d.ReadOnlyRegister
		}},
	} {
		t.Run(c.profile, func(t *testing.T) {
			simulated(t, sim.Options{Profile: c.profile}, func(d *Driver, err error) {
				if !errors.Is(err, c.err) {
					t.Fatalf("got %v", err)
				}
				if c.err != nil {
					return
				}
				devices, err := d.Devices()
				if err != nil || len(devices) != 1 || !c.is(devices[0]) {
					t.Errorf("got %+v, %v", devices, err)
				}
			})
		})
	}
}

// Numbers of devices differ between processes, UUIDs do not.
func TestTwoGPUs(t *testing.T) {
	simulated(t, sim.Options{Profile: "two-gpus", Devices: "1,0"}, func(d *Driver, err error) {
		if err != nil {
			t.Fatal(err)
		}
		devices, err := d.Devices()
		if err != nil || len(devices) != 2 {
			t.Fatal(devices, err)
		}
		for i, dev := range devices {
			if dev.Ordinal != i || dev.UUID.String() != sim.UUID(1-i) {
				t.Errorf("%d is %s", dev.Ordinal, dev.UUID)
			}
		}
		second, err := Find(devices, sim.UUID(0))
		if err != nil || second.Ordinal != 1 {
			t.Fatal(second, err)
		}
		th, err := d.Start(second, "second")
		if err != nil {
			t.Fatal(err)
		}
		if err := th.Do(func() error {
			p, err := th.Alloc(1 << 20)
			if err != nil {
				return err
			}
			if info, err := th.PointerInfo(p + 4096); err != nil || info.Base != p || info.Device != 1 || info.PosixFD || info.Host {
				t.Errorf("got %+v, %v", info, err)
			}
			return th.Free(p)
		}); err != nil {
			t.Error(err)
		}
		if err := th.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A goroutine that is not the thread's has no context, and the driver says so.
func TestWrongThread(t *testing.T) {
	simulated(t, sim.Options{}, func(d *Driver, err error) {
		if err != nil {
			t.Fatal(err)
		}
		th, err := d.Start(Device{}, "test")
		if err != nil {
			t.Fatal(err)
		}
		if err := th.Do(func() error {
			other := make(chan error)
			go func() {
				_, err := th.Alloc(4096)
				other <- err
			}()
			return <-other
		}); resultOf(err) != InvalidContext {
			t.Errorf("got %v", err)
		}
		if err := th.Close(); err != nil {
			t.Error(err)
		}
	}, "S2")
}

// All calls of the way of a frame, with data that comes late.
func TestSimulatedFrames(t *testing.T) {
	simulated(t, sim.Options{Delay: sim.Uniform, DelayMicros: 500}, func(d *Driver, err error) {
		if err != nil {
			t.Fatal(err)
		}
		th, err := d.Start(Device{}, "test")
		if err != nil {
			t.Fatal(err)
		}
		if err := th.Do(func() error { return errors.Join(frames(t, th), shared(t, th)) }); err != nil {
			t.Error(err)
		}
		if err := th.Close(); err != nil {
			t.Error(err)
		}
	}, "S9") // for what is registered twice
}

func frames(t *testing.T, th *Thread) error {
	const width, height, pitch = 96, 32, 512
	var todo []func() error
	later := func(f func() error) { todo = append(todo, f) }
	defer func() {
		for _, f := range slices.Backward(todo) {
			if err := f(); err != nil {
				t.Error(err)
			}
		}
	}()

	ring, err := unix.Mmap(-1, 0, 16<<10, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	later(func() error { return unix.Munmap(ring) })
	if err := th.HostRegister(ring, false); err != nil {
		return err
	}
	later(func() error { return th.HostUnregister(ring) })
	if err := th.HostRegister(ring[4096:8192], false); resultOf(err) != HostMemoryAlreadyRegistered {
		t.Errorf("registered twice: %v", err)
	}
	back, err := th.HostAlloc(width * height)
	if err != nil {
		return err
	}
	later(func() error { return th.HostFree(back) })
	device, err := th.Alloc(2 * pitch * height)
	if err != nil {
		return err
	}
	later(func() error { return th.Free(device) })
	up, err := th.NewStream(0)
	if err != nil {
		return err
	}
	later(func() error { return th.DestroyStream(up) })
	down, err := th.NewStream(0)
	if err != nil {
		return err
	}
	later(func() error { return th.DestroyStream(down) })
	ev, err := th.NewEvent()
	if err != nil {
		return err
	}
	later(func() error { return th.DestroyEvent(ev) })

	frame := ring[:width*height]
	for n := range 5 {
		for i := range frame {
			frame[i] = byte(i*7 + n)
		}
		second := device + pitch*height
		if err := errors.Join(
			th.Memset8(device, byte(n), pitch*height, up),
			th.Copy2D(&Copy2D{SrcHost: frame, SrcPitch: width, DstDevice: device, DstPitch: pitch, Width: width, Height: height}, up),
			th.DtoD(second, device, pitch*height, up),
			th.Record(ev, up),
			th.StreamWait(down, ev),
			th.Copy2D(&Copy2D{SrcDevice: second, SrcPitch: pitch, DstHost: back, DstPitch: width, Width: width, Height: height}, down),
			th.Record(ev, down),
			th.Wait(ev, 100*time.Microsecond),
		); err != nil {
			return err
		}
		if !bytes.Equal(back, frame) {
			t.Errorf("frame %d differs", n)
		}
		// A query may lag behind.
		for done := false; !done; {
			if done, err = th.StreamQuery(down); err != nil {
				return err
			}
		}
	}
	return th.Sync()
}

// A lost GPU fails every call, and the thread ends all the same.
func TestSimulatedLoss(t *testing.T) {
	simulated(t, sim.Options{Fail: "op:1:719"}, func(d *Driver, err error) {
		if err != nil {
			t.Fatal(err)
		}
		th, err := d.Start(Device{}, "test")
		if err != nil {
			t.Fatal(err)
		}
		if err := th.Do(func() error {
			p, err := th.Alloc(4096)
			if err != nil {
				return err
			}
			s, err := th.NewStream(0)
			if err != nil {
				return err
			}
			// The operation breaks, a later call tells.
			if err := th.Memset8(p, 1, 4096, s); err != nil {
				return err
			}
			if err := th.StreamSync(s); !Sticky(err) || resultOf(err) != LaunchFailed {
				t.Errorf("got %v", err)
			}
			if _, err := th.NewEvent(); !Sticky(err) {
				t.Errorf("got %v", err)
			}
			return errors.Join(th.DestroyStream(s), th.Free(p))
		}); err != nil && !Sticky(err) {
			t.Error(err)
		}
		if err := th.Close(); err != nil && !Sticky(err) {
			t.Error(err)
		}
	})
}
