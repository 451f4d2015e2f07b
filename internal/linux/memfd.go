// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package linux

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ErrNoMemory reports that shared memory of the wanted size cannot be had.
var ErrNoMemory = errors.New("not enough memory")

// PageSize is the size of a page in bytes.
var PageSize = os.Getpagesize()

// PageRound rounds n bytes up to whole pages.
func PageRound(n int64) int64 {
	p := int64(PageSize)
	return (n + p - 1) / p * p
}

// Memory is a memory file and its mapping in this process.
type Memory struct {
	FD   int
	Data []byte
}

// NewMemory makes a memory file of size bytes, fully backed by pages, maps it
// for reading and writing and then seals it with F_SEAL_SHRINK, F_SEAL_GROW and
// F_SEAL_SEAL. With readOnly also F_SEAL_FUTURE_WRITE: whoever gets the
// descriptor can only map it for reading, while the mapping made here goes on
// writing (memfd_create(2), fcntl(2), kernel 5.1). What does not fit into
// MemoryLimits or FileSizeLimit fails with ErrNoMemory.
func NewMemory(name string, size int64, readOnly bool) (*Memory, error) {
	if size <= 0 {
		return nil, fmt.Errorf("memory of %d bytes for %s: %w", size, name, unix.EINVAL)
	}
	if limit := FileSizeLimit(); size > limit {
		return nil, fmt.Errorf("%w: %s takes %d bytes, files may have at most %d (RLIMIT_FSIZE, ulimit -f)", ErrNoMemory, name, size, limit)
	}
	// Shared memory beyond the limit of a cgroup or host does not fail: it
	// brings the OOM killer.
	for _, l := range MemoryLimits() {
		if size > l.Room() {
			return nil, fmt.Errorf("%w: %s takes %d bytes, %s leaves %d (%d of %d in use)", ErrNoMemory, name, size, l.Name, l.Room(), l.Inuse, l.Max)
		}
	}
	fd, err := createMemfd(name)
	if err != nil {
		return nil, fmt.Errorf("memfd_create %s: %w", name, err)
	}
	m := &Memory{FD: fd}
	fail := func(call string, err error) (*Memory, error) {
		_ = m.Close()
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EFBIG) {
			return nil, fmt.Errorf("%w: %s of %d bytes for %s: %w", ErrNoMemory, call, size, name, err)
		}
		return nil, fmt.Errorf("%s of %d bytes for %s: %w", call, size, name, err)
	}
	// What can be refused comes before memory is taken.
	if err := unix.Ftruncate(fd, size); err != nil {
		return fail("ftruncate", err)
	}
	m.Data, err = unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fail("mmap", err)
	}
	if err := allocate(fd, size); err != nil {
		return fail("fallocate", err)
	}
	populate(m.Data)
	seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW
	if readOnly {
		seals |= unix.F_SEAL_FUTURE_WRITE
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals|unix.F_SEAL_SEAL); err != nil {
		return fail("sealing", err)
	}
	return m, nil
}

// createMemfd asks for a file that can never be executed. Kernels before 6.3 do
// not know the flag, and hardened ones refuse a file without it
// (vm.memfd_noexec).
func createMemfd(name string) (int, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) {
		return unix.MemfdCreate(name, flags)
	}
	return fd, err
}

// allocateStep is small enough that the kernel fills it between two signals of
// a profiler: fallocate undoes an interrupted call as a whole (EINTR), and one
// call for a large ring would never end.
const allocateStep = 8 << 20

func allocate(fd int, size int64) error {
	for done := int64(0); done < size; {
		err := unix.Fallocate(fd, 0, done, min(allocateStep, size-done))
		if err == nil {
			done += allocateStep
		} else if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return nil
}

// populate saves the page faults of the first frames. The pages exist, so that
// touching them cannot fail where the kernel lacks MADV_POPULATE_WRITE (5.14).
func populate(data []byte) {
	if unix.Madvise(data, unix.MADV_POPULATE_WRITE) == nil {
		return
	}
	for i := 0; i < len(data); i += PageSize {
		data[i] = 0
	}
}

// Close unmaps and closes. It may be called twice.
func (m *Memory) Close() error {
	var errs []error
	if m.Data != nil {
		errs = append(errs, unix.Munmap(m.Data))
		m.Data = nil
	}
	if m.FD >= 0 {
		errs = append(errs, unix.Close(m.FD))
		m.FD = -1
	}
	return errors.Join(errs...)
}

// MapFile maps size bytes of a descriptor that came from another process, for
// reading or also for writing. It refuses a file that is shorter than size or
// that could still shrink, since touching pages past its end kills the process.
func MapFile(fd int, size int64, writable bool) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("fstat: %w", err)
	}
	if size <= 0 || st.Size < size {
		return nil, fmt.Errorf("memory file has %d bytes, want %d: %w", st.Size, size, unix.EINVAL)
	}
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil || seals&unix.F_SEAL_SHRINK == 0 {
		return nil, fmt.Errorf("memory file is not sealed against shrinking: %w", unix.EPERM)
	}
	prot := unix.PROT_READ
	flags := unix.MAP_SHARED
	if st.Blocks*512 >= size {
		// Page faults of the first frames are saved. Not for a file with holes:
		// the pages would be made, and charged to this process.
		flags |= unix.MAP_POPULATE
	}
	if writable {
		prot |= unix.PROT_WRITE
	}
	return unix.Mmap(fd, 0, int(size), prot, flags)
}
