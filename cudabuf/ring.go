// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cudabuf

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/ring"
)

// ProbeBytes is how many random bytes lie behind the slots, by which a reader
// proves that it reads this memory.
const ProbeBytes = 32

// probeRoom is the end of the memory that belongs to the probe.
const probeRoom = 4096

// Ring is a ring whose slots are in device memory. Leases, header and pages are
// those of package ring.
type Ring struct {
	*ring.Ring
	memory *Memory
	probe  [ProbeBytes]byte

	mu sync.Mutex
	fd int // by which the memory is imported; -1 once closed
}

// NewRing makes the ring and its memory. It fails with ErrNoMemory, or with the
// error of ring.New or of the driver.
func NewRing(t *driver.Thread, cfg ring.Config) (*Ring, error) {
	cfg.Elsewhere = true
	r := &Ring{fd: -1}
	var err error
	if r.Ring, err = ring.New(cfg); err != nil {
		return nil, err
	}
	if err := r.allocate(t); err != nil {
		return nil, errors.Join(fmt.Errorf("device ring of %s: %w", cfg.Name, err), r.Close(t))
	}
	return r, nil
}

func (r *Ring) allocate(t *driver.Thread) error {
	var err error
	if r.memory, err = Create(t, r.Layout().PixelBytes+probeRoom); err != nil {
		return err
	}
	rand.Read(r.probe[:]) // never fails (crypto/rand)
	if err := write(t, r.memory.Base()+driver.Ptr(r.ProbeOffset()), r.probe[:]); err != nil {
		return err
	}
	r.fd, err = r.memory.Export(t)
	return err
}

// write copies a few bytes to the device and waits for that.
func write(t *driver.Thread, dst driver.Ptr, text []byte) error {
	src, err := t.HostAlloc(len(text))
	if err != nil {
		return err
	}
	copy(src, text)
	s, err := t.NewStream(0)
	if err != nil {
		return errors.Join(err, t.HostFree(src))
	}
	err = t.HtoD(dst, src, s)
	if err == nil {
		err = Finish(t, s)
	}
	return errors.Join(err, t.DestroyStream(s), t.HostFree(src))
}

// Handle is a duplicate of the descriptor by which the memory is imported, which
// the caller closes. It fails with ring.ErrRetired after Close.
func (r *Ring) Handle() (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fd < 0 {
		return -1, ring.ErrRetired
	}
	fd, err := unix.FcntlInt(uintptr(r.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("duplicating the descriptor of device memory: %w", err)
	}
	return fd, nil
}

// Bytes is the size of the whole allocation.
func (r *Ring) Bytes() int64 { return r.memory.Bytes() }

// Probe is the random bytes behind the slots.
func (r *Ring) Probe() []byte { return append([]byte(nil), r.probe[:]...) }

// ProbeOffset is where they are, in bytes.
func (r *Ring) ProbeOffset() int64 { return r.memory.Bytes() - probeRoom }

// Pointer is where a slot begins.
func (r *Ring) Pointer(slot int) driver.Ptr { return r.memory.Base() + driver.Ptr(r.Offset(slot)) }

// Close retires the ring and gives the memory back, once all work on it is done.
// Readers keep what they have mapped until they let go of it. It may be called
// twice.
func (r *Ring) Close(t *driver.Thread) error {
	r.Retire()
	// Not held while the driver works: Handle must never wait for that.
	r.mu.Lock()
	fd := r.fd
	r.fd = -1
	r.mu.Unlock()
	var errs []error
	if fd >= 0 {
		errs = append(errs, unix.Close(fd))
	}
	if r.memory != nil {
		errs = append(errs, r.memory.Close(t))
	}
	return errors.Join(errs...)
}
