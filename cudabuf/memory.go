// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cudabuf

import (
	"errors"
	"fmt"

	"github.com/seed-3c7e7623/camd/cudabuf/driver"
)

var (
	// ErrNoMemory: the GPU has no room for what was asked for.
	ErrNoMemory = errors.New("not enough memory on the GPU")
	// ErrNoSharing: a GPU or driver whose memory other processes cannot have.
	ErrNoSharing = errors.New("its memory cannot be exported as a file descriptor")
	// ErrBytes: memory of an impossible size.
	ErrBytes = errors.New("impossible size of device memory")
)

// CanShare is nil if other processes can import memory of the device, else
// driver.ErrTooOld or ErrNoSharing.
func CanShare(d *driver.Driver, dev driver.Device) error {
	switch {
	case !d.VMM():
		return fmt.Errorf("%s: %w: it lacks functions of memory that can be shared, which came with CUDA 10.2: update the driver", d.Library(), driver.ErrTooOld)
	case !dev.VMM || !dev.PosixFD:
		return fmt.Errorf("%s (%s): %w", dev.Name, dev.UUID, ErrNoSharing)
	}
	return nil
}

// maxBytes of one Memory: a bound for what other processes say.
const maxBytes = 1 << 40

// Memory is device memory that more than one process can map. Physically it
// lives until the last process has let go of it, and of the descriptors of it.
type Memory struct {
	handle driver.Handle
	base   driver.Ptr
	bytes  int64
	mapped bool
}

// Create makes memory of at least so many bytes, rounded up to what the device
// allots, mapped for reading and writing, and cleared: it was somebody else's
// before, and readers are to see none of that. It fails with ErrNoMemory, ErrBytes
// or the driver's error.
func Create(t *driver.Thread, bytes int64) (*Memory, error) {
	if bytes <= 0 || bytes > maxBytes {
		return nil, fmt.Errorf("%w: %d", ErrBytes, bytes)
	}
	unit, err := t.Granularity()
	if err != nil {
		return nil, err
	}
	m := &Memory{bytes: (bytes + unit - 1) / unit * unit}
	if m.handle, err = t.MemCreate(m.bytes); err != nil {
		return nil, noMemory(t, m.bytes, err)
	}
	if err := m.open(t, true); err != nil {
		return nil, err
	}
	if err := m.clear(t); err != nil {
		return nil, errors.Join(err, m.Close(t))
	}
	return m, nil
}

// noMemory says of an allocation that failed for want of memory how much there
// is.
func noMemory(t *driver.Thread, bytes int64, err error) error {
	if !errors.Is(err, driver.ErrOutOfMemory) {
		return err
	}
	free, total, infoErr := t.MemInfo()
	if infoErr != nil {
		return fmt.Errorf("%w: %d bytes were asked for: %w", ErrNoMemory, bytes, err)
	}
	return fmt.Errorf("%w: %d bytes were asked for, %d of %d are free on %s: %w", ErrNoMemory, bytes, free, total, t.Device().Name, err)
}

// Import maps memory that another process made, for reading or also for
// writing. bytes is the size of the whole allocation, Bytes there. The descriptor
// remains the caller's.
func Import(t *driver.Thread, fd int, bytes int64, readWrite bool) (*Memory, error) {
	if bytes <= 0 || bytes > maxBytes {
		return nil, fmt.Errorf("%w: %d", ErrBytes, bytes)
	}
	unit, err := t.Granularity()
	if err != nil {
		return nil, err
	}
	if bytes%unit != 0 {
		return nil, fmt.Errorf("%w: %d is no multiple of the %d that %s allots", ErrBytes, bytes, unit, t.Device().Name)
	}
	m := &Memory{bytes: bytes}
	if m.handle, err = t.ImportFD(fd); err != nil {
		return nil, err
	}
	if err := m.open(t, readWrite); err != nil {
		return nil, err
	}
	return m, nil
}

// open maps the memory. On an error nothing is left of it.
func (m *Memory) open(t *driver.Thread, readWrite bool) error {
	var err error
	if m.base, err = t.Reserve(m.bytes, 0); err != nil {
		return errors.Join(fmt.Errorf("no addresses for %d bytes of device memory: %w", m.bytes, err), m.Close(t))
	}
	if err = t.Map(m.base, m.bytes, m.handle); err != nil {
		return errors.Join(noMemory(t, m.bytes, err), m.Close(t))
	}
	m.mapped = true
	if err = t.SetAccess(m.base, m.bytes, readWrite); err != nil {
		return errors.Join(noMemory(t, m.bytes, err), m.Close(t))
	}
	return nil
}

func (m *Memory) clear(t *driver.Thread) error {
	s, err := t.NewStream(0)
	if err != nil {
		return err
	}
	err = t.Memset8(m.base, 0, m.bytes, s)
	if err == nil {
		err = Finish(t, s)
	}
	return errors.Join(err, t.DestroyStream(s))
}

// Finish waits for the work of a stream, so that its memory can be given back.
// Where the driver does not tell of the stream, it waits for all work of the
// context, and fails all the same.
func Finish(t *driver.Thread, s driver.Stream) error {
	err := t.StreamSync(s)
	if err != nil && !driver.Sticky(err) {
		return errors.Join(err, t.Sync())
	}
	return err
}

// Export is a new descriptor by which another process can import the memory. It
// is close-on-exec and the caller's.
func (m *Memory) Export(t *driver.Thread) (int, error) { return t.ExportFD(m.handle) }

// Base is where the memory begins in this process, for its GPU.
func (m *Memory) Base() driver.Ptr { return m.base }

// Bytes is the size of the whole allocation.
func (m *Memory) Bytes() int64 { return m.bytes }

// Close unmaps the memory and gives it back, once all work on it is done. It may
// be called twice.
func (m *Memory) Close(t *driver.Thread) error {
	var errs []error
	if m.mapped {
		errs = append(errs, t.Unmap(m.base, m.bytes))
		m.mapped = false
	}
	if m.base != 0 {
		errs = append(errs, t.AddressFree(m.base, m.bytes))
		m.base = 0
	}
	if m.handle != 0 {
		errs = append(errs, t.MemRelease(m.handle))
		m.handle = 0
	}
	return errors.Join(errs...)
}
