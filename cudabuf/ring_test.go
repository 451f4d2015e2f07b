// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cudabuf

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/ring"
)

func ringConfig(t testing.TB) ring.Config {
	t.Helper()
	g, err := frame.NewGeometry(frame.Mono8, 100, 100)
	if err != nil {
		t.Fatal(err)
	}
	return ring.Config{
		Name: "test/color", Session: frame.Session{1}, Epoch: 1, Geometry: g, Slots: ring.SlotsFor(1, 1, 2),
		MaxReaders: 1, Generation: new(atomic.Uint64),
	}
}

// read copies device memory to the host.
func read(th *driver.Thread, p driver.Ptr, n int) ([]byte, error) {
	host, err := th.HostAlloc(n)
	if err != nil {
		return nil, err
	}
	s, err := th.NewStream(0)
	if err != nil {
		return nil, err
	}
	err = th.DtoH(host, p, s)
	if err == nil {
		err = th.StreamSync(s)
	}
	out := bytes.Clone(host)
	return out, errors.Join(err, th.DestroyStream(s), th.HostFree(host))
}

// Memory of which somebody else was the owner shows nothing of that, and another
// side that imports the ring reads the probe behind the slots.
func TestRingMemory(t *testing.T) {
	th := threads(t, 2)
	var r *Ring
	must(t, th[0], func() error {
		dirty, err := Create(th[0], 1)
		if err != nil {
			return err
		}
		s, err := th[0].NewStream(0)
		if err != nil {
			return err
		}
		err = errors.Join(th[0].Memset8(dirty.Base(), 0xee, dirty.Bytes(), s), th[0].StreamSync(s), th[0].DestroyStream(s), dirty.Close(th[0]))
		if err != nil {
			return err
		}
		r, err = NewRing(th[0], ringConfig(t))
		return err
	})
	if r.Bytes() < r.Layout().PixelBytes+ProbeBytes || r.ProbeOffset() < r.Layout().PixelBytes || r.ProbeOffset()+ProbeBytes > r.Bytes() {
		t.Errorf("probe at %d of %d bytes, pixels take %d", r.ProbeOffset(), r.Bytes(), r.Layout().PixelBytes)
	}
	fd, err := r.Handle()
	if err != nil {
		t.Fatal(err)
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("a child would inherit the handle: flags %#x, %v", flags, err)
	}
	must(t, th[1], func() error {
		m, err := Import(th[1], fd, r.Bytes(), false)
		if err != nil {
			return err
		}
		all, err := read(th[1], m.Base(), int(m.Bytes()))
		if err != nil {
			return err
		}
		probe := all[r.ProbeOffset():][:ProbeBytes]
		if !bytes.Equal(probe, r.Probe()) || bytes.Equal(probe, make([]byte, ProbeBytes)) {
			t.Errorf("probe reads %x, want %x", probe, r.Probe())
		}
		clear(probe)
		if i := bytes.IndexFunc(all, func(c rune) bool { return c != 0 }); i >= 0 {
			t.Errorf("byte %d of the fresh ring is %#x", i, all[i])
		}
		return errors.Join(m.Close(th[1]), m.Close(th[1]))
	})
	_ = unix.Close(fd)
	must(t, th[0], func() error { return errors.Join(r.Close(th[0]), r.Close(th[0])) })
	if n := sim.Memory(t, simulated.dir); n != 0 {
		t.Errorf("%d bytes of device memory are left", n)
	}
	if _, err := r.Handle(); !errors.Is(err, ring.ErrRetired) {
		t.Errorf("a handle of a closed ring: %v", err)
	}
	if _, err := r.Acquire(); !errors.Is(err, ring.ErrRetired) {
		t.Errorf("a slot of a closed ring: %v", err)
	}
}

func TestMemoryRefuses(t *testing.T) {
	th := threads(t, 1, "S28")[0] // import of what is no memory
	must(t, th, func() error {
		for _, n := range []int64{0, -1, 1 << 60} {
			if _, err := Create(th, n); !errors.Is(err, ErrBytes) {
				t.Errorf("created %d bytes: %v", n, err)
			}
			if _, err := Import(th, 0, n, false); !errors.Is(err, ErrBytes) {
				t.Errorf("imported %d bytes: %v", n, err)
			}
		}
		if _, err := Import(th, 0, 4097, false); !errors.Is(err, ErrBytes) {
			t.Errorf("imported half a page: %v", err)
		}
		return nil
	})
	p := make([]int, 2)
	if err := unix.Pipe2(p, unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	must(t, th, func() error {
		var e *driver.Error
		if _, err := Import(th, p[0], 2<<20, false); !errors.As(err, &e) {
			t.Errorf("imported a pipe: %v", err)
		}
		return nil
	})
}

// A slot goes to readers once, whole, or not at all.
func TestWriteHandle(t *testing.T) {
	th := threads(t, 1)[0]
	var r *Ring
	var w *Writer
	var host []byte
	must(t, th, func() (err error) {
		if r, err = NewRing(th, ringConfig(t)); err != nil {
			return err
		}
		if w, err = NewWriter(th, r, time.Millisecond); err != nil {
			return err
		}
		host, err = th.HostAlloc(10000)
		return err
	})
	l, err := r.AddLocal(1, make(chan struct{}, 1))
	if err != nil {
		t.Fatal(err)
	}
	l.Want(true)
	var got ring.Lease
	for seq := byte(1); seq <= 30; seq++ {
		for i := range host {
			host[i] = seq
		}
		must(t, th, func() error {
			h, err := w.Begin()
			if err != nil {
				return err
			}
			if _, err := w.Begin(); !errors.Is(err, ErrHandleOpen) {
				t.Errorf("begun twice: %v", err)
			}
			if err := h.Upload(th, make([]byte, r.Layout().StrideBytes+1)); !errors.Is(err, ErrTooLarge) {
				t.Errorf("uploaded more than a slot: %v", err)
			}
			if err := h.Upload(th, host); err != nil {
				return err
			}
			if l.Take(&got) {
				t.Errorf("frame %d came before it was published", got.Meta.Sequence)
			}
			if seq%3 == 0 { // thought better of it
				err = h.Discard(th)
			} else {
				err = h.Publish(th, &frame.Meta{Sequence: uint64(seq), Bytes: len(host)})
			}
			if err != nil {
				return err
			}
			for _, err := range []error{h.Publish(th, &frame.Meta{}), h.Discard(th), h.Upload(th, host)} {
				if !errors.Is(err, ErrHandleClosed) {
					t.Errorf("used after its end: %v", err)
				}
			}
			if took := l.Take(&got); took != (seq%3 != 0) {
				t.Errorf("frame %d: taken %v", seq, took)
				return nil
			} else if !took {
				return nil
			}
			data, err := read(th, r.memory.Base()+driver.Ptr(got.Offset), got.Meta.Bytes)
			if err == nil && !bytes.Equal(data, host) {
				t.Errorf("frame %d is not what was uploaded", seq)
			}
			l.Release(got.Word)
			return err
		})
	}
	if u := r.Usage(); u.Writing != 0 || u.Free != u.Slots-1 {
		t.Errorf("usage %+v", u)
	}
	must(t, th, func() error { return errors.Join(th.HostFree(host), w.Close(th), w.Close(th), r.Close(th)) })
}

// No room on the GPU is told with how much was wanted and how much there is.
func TestNoRoom(t *testing.T) {
	th := threads(t, 1)[0]
	sim.Inject(t, simulated.dir, "oom")
	defer sim.Inject(t, simulated.dir, "")
	must(t, th, func() error {
		_, err := NewRing(th, ringConfig(t))
		if !errors.Is(err, ErrNoMemory) || !errors.Is(err, driver.ErrOutOfMemory) {
			t.Errorf("%v", err)
		}
		return nil
	})
}
