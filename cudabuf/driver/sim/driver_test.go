// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/internal/dl"
)

// TestDriverPackage goes the way of a frame with our own binding, cleanly.
func TestDriverPackage(t *testing.T) {
	if !dl.Available {
		t.Skip("built without libraries")
	}
	library := sim.Build(t)
	dir := sim.Setenv(t, sim.Options{Delay: sim.Uniform, DelayMicros: 1000})
	d, err := driver.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	devices, err := d.Devices()
	if err != nil || len(devices) != 1 {
		t.Fatalf("devices %v: %v", devices, err)
	}
	if got := devices[0].UUID.String(); got != sim.UUID(0) {
		t.Errorf("UUID %s, want %s", got, sim.UUID(0))
	}
	th, err := d.Start(devices[0], "test")
	if err != nil {
		t.Fatal(err)
	}
	const size = 2 << 20
	err = th.Do(func() error {
		h, err := th.MemCreate(size)
		if err != nil {
			return err
		}
		p, err := th.Reserve(size, 0)
		if err != nil {
			return err
		}
		if err := th.Map(p, size, h); err != nil {
			return err
		}
		if err := th.SetAccess(p, size, true); err != nil {
			return err
		}
		fd, err := th.ExportFD(h)
		if err != nil {
			return err
		}
		h2, err := th.ImportFD(fd)
		if err != nil {
			return err
		}
		host, err := th.HostAlloc(1 << 16)
		if err != nil {
			return err
		}
		for i := range host {
			host[i] = byte(i * 7)
		}
		back, err := th.HostAlloc(1 << 16)
		if err != nil {
			return err
		}
		s, err := th.NewStream(0)
		if err != nil {
			return err
		}
		if err := th.HtoD(p, host, s); err != nil {
			return err
		}
		if err := th.DtoH(back, p, s); err != nil {
			return err
		}
		if err := th.StreamSync(s); err != nil {
			return err
		}
		if !bytes.Equal(host, back) {
			t.Error("bytes differ")
		}
		if got := sim.Memory(t, dir); got != size {
			t.Errorf("%d bytes in use", got)
		}
		for _, f := range []func() error{
			func() error { return th.DestroyStream(s) },
			func() error { return th.HostFree(host) },
			func() error { return th.HostFree(back) },
			func() error { return th.Unmap(p, size) },
			func() error { return th.AddressFree(p, size) },
			func() error { return th.MemRelease(h) },
			func() error { return th.MemRelease(h2) },
		} {
			if err := f(); err != nil {
				return err
			}
		}
		if got := sim.Memory(t, dir); got != size {
			t.Errorf("%d bytes in use while the descriptor is open", got)
		}
		return closeFD(fd)
	})
	if err != nil {
		t.Error(err)
	}
	if err := th.Close(); err != nil {
		t.Error(err)
	}
	if got := sim.Memory(t, dir); got != 0 {
		t.Errorf("%d bytes left", got)
	}
	sim.Unbound(t, library)
	sim.Clean(t, dir)
	sim.NoLeaks(t, dir)
}

func closeFD(fd int) error { return unix.Close(fd) }
