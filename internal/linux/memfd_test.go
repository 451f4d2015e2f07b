// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package linux

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func newMemory(t *testing.T, size int64, readOnly bool) *Memory {
	t.Helper()
	m, err := NewMemory("camd-test", size, readOnly)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// descriptors are the ways in which another process can hold the same file.
func descriptors(t *testing.T, m *Memory) map[string]int {
	t.Helper()
	duplicate, err := unix.FcntlInt(uintptr(m.FD), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(duplicate) })
	out := map[string]int{"duplicate": duplicate}
	// Reopening gives a description with flags of its own.
	reopened, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", m.FD), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(reopened) })
	out["reopened"] = reopened
	return out
}

func mapWritable(fd int) error {
	b, err := unix.Mmap(fd, 0, PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err == nil {
		_ = unix.Munmap(b)
	}
	return err
}

func makeWritable(fd int) error {
	b, err := unix.Mmap(fd, 0, PageSize, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("mapping for reading: %w", err)
	}
	defer func() { _ = unix.Munmap(b) }()
	return unix.Mprotect(b, unix.PROT_READ|unix.PROT_WRITE)
}

func TestSealsRefuse(t *testing.T) {
	size := int64(4 * PageSize)
	operations := []struct {
		name    string
		do      func(fd int) error
		forPage bool // refused on a page that its reader may write, too
	}{
		{"map for writing", mapWritable, false},
		{"make a mapping writable", makeWritable, false},
		{"pwrite", func(fd int) error { _, err := unix.Pwrite(fd, []byte{1}, 0); return err }, false},
		{"punch a hole", func(fd int) error {
			return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, int64(PageSize))
		}, false},
		{"zero by truncation", func(fd int) error { return unix.Ftruncate(fd, 0) }, true},
		{"shrink by a page", func(fd int) error { return unix.Ftruncate(fd, size-int64(PageSize)) }, true},
		{"grow", func(fd int) error { return unix.Ftruncate(fd, size+int64(PageSize)) }, true},
		{"grow by fallocate", func(fd int) error { return unix.Fallocate(fd, 0, size, int64(PageSize)) }, true},
		{"write behind the end", func(fd int) error { _, err := unix.Pwrite(fd, []byte{1}, size); return err }, true},
		{"seal more", func(fd int) error {
			_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
			return err
		}, true},
	}
	for _, readOnly := range []bool{true, false} {
		for _, op := range operations {
			if !readOnly && !op.forPage {
				continue
			}
			t.Run(fmt.Sprintf("read only %v/%s", readOnly, op.name), func(t *testing.T) {
				m := newMemory(t, size, readOnly)
				for how, fd := range descriptors(t, m) {
					if err := op.do(fd); !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) {
						t.Errorf("%s descriptor: %v, want EPERM or EACCES", how, err)
					}
				}
				for i := range m.Data { // the maker's mapping goes on writing, to the last byte
					m.Data[i] = byte(i)
				}
			})
		}
	}
}

func TestMakerIsBoundToo(t *testing.T) {
	m := newMemory(t, int64(PageSize), true)
	if err := mapWritable(m.FD); !errors.Is(err, unix.EPERM) {
		t.Errorf("second writable mapping by the maker: %v, want EPERM", err)
	}
}

func TestReaderSeesWrites(t *testing.T) {
	m := newMemory(t, int64(PageSize), true)
	got, err := MapFile(descriptors(t, m)["reopened"], int64(PageSize), false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(got) }()
	m.Data[17] = 42
	if got[17] != 42 {
		t.Errorf("reader sees %d, want 42", got[17])
	}
}

func TestPageOfReader(t *testing.T) {
	m := newMemory(t, int64(PageSize), false)
	fd := descriptors(t, m)["duplicate"]
	page, err := MapFile(fd, int64(PageSize), true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(page) }()
	page[5] = 7
	if m.Data[5] != 7 {
		t.Errorf("daemon sees %d, want 7", m.Data[5])
	}
	// A hole only zeroes: the daemon must survive touching it.
	if err := unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, int64(PageSize)); err != nil {
		t.Fatal(err)
	}
	if m.Data[5] != 0 {
		t.Errorf("after the hole the daemon sees %d, want 0", m.Data[5])
	}
	m.Data[5] = 9
	if page[5] != 9 {
		t.Errorf("reader sees %d, want 9", page[5])
	}
}

func TestMemoryIsBacked(t *testing.T) {
	size := int64(2*allocateStep + 3*PageSize)
	m := newMemory(t, size, true)
	var st unix.Stat_t
	if err := unix.Fstat(m.FD, &st); err != nil {
		t.Fatal(err)
	}
	if st.Size != size || st.Blocks*512 < size || int64(len(m.Data)) != size {
		t.Errorf("file of %d bytes with %d backed, mapping of %d: want all %d", st.Size, st.Blocks*512, len(m.Data), size)
	}
	if st.Mode&0o111 != 0 {
		t.Errorf("memory file is executable: mode %o", st.Mode)
	}
}

// A profiler's or the scheduler's signal interrupts fallocate, which then has
// done nothing.
func TestMemoryDespiteSignals(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, tid := os.Getpid(), unix.Gettid()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 500 {
				_ = unix.Tgkill(pid, tid, unix.SIGURG)
				runtime.Gosched()
			}
		})
	}
	for range 4 {
		m, err := NewMemory("camd-test", 4*allocateStep, true)
		if err != nil {
			t.Error(err)
			break
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}

func TestNewMemoryRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		memory string
		size   int64
		want   error
	}{
		{"no bytes", "camd-test", 0, unix.EINVAL},
		{"negative", "camd-test", -1, unix.EINVAL},
		{"more than any file", "camd-test", math.MaxInt64, ErrNoMemory},
		{"name too long", strings.Repeat("n", 300), 4096, unix.EINVAL},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := openFiles(t)
			m, err := NewMemory(c.memory, c.size, true)
			if !errors.Is(err, c.want) || m != nil {
				t.Errorf("got %v, %v; want %v", m, err, c.want)
			}
			if after := openFiles(t); after != before {
				t.Errorf("%d descriptors before, %d after", before, after)
			}
		})
	}
}

// Limits are set in another process: they cannot be raised again.
func TestNewMemoryWithinLimits(t *testing.T) {
	for _, name := range []string{"fsize", "address space"} {
		t.Run(name, func(t *testing.T) {
			if out, err := helper(t, name).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

func helperFileSize() error {
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
		return err
	}
	if got := FileSizeLimit(); got != 1<<20 {
		return fmt.Errorf("file size limit %d", got)
	}
	return wantNoMemory(2<<20, "RLIMIT_FSIZE")
}

func helperAddressSpace() error {
	n := uint64(addressSpace("/")) + 64<<20
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: n, Max: n}); err != nil {
		return err
	}
	found := false
	for _, l := range MemoryLimits() {
		if strings.HasPrefix(l.Name, "RLIMIT_AS") {
			found = l.Max == int64(n) && l.Inuse > 0 && l.Room() <= 64<<20
		}
	}
	if !found {
		return fmt.Errorf("RLIMIT_AS of %d is not among %v", n, MemoryLimits())
	}
	return wantNoMemory(128<<20, "RLIMIT_AS")
}

func wantNoMemory(size int64, word string) error {
	m, err := NewMemory("camd-test", size, true)
	if err == nil {
		_ = m.Close()
		return errors.New("memory beyond the limit was given")
	}
	if !errors.Is(err, ErrNoMemory) || !strings.Contains(err.Error(), word) {
		return fmt.Errorf("got %w, want ErrNoMemory with %q", err, word)
	}
	m, err = NewMemory("camd-test", 4096, true)
	if err != nil {
		return fmt.Errorf("within the limit: %w", err)
	}
	return m.Close()
}

func TestCloseTwiceLeavesNothing(t *testing.T) {
	before := openFiles(t)
	m, err := NewMemory("camd-close-twice", int64(PageSize), true)
	if err != nil {
		t.Fatal(err)
	}
	if n := mappings(t, "camd-close-twice"); n != 1 {
		t.Errorf("%d mappings while open, want 1", n)
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if n := mappings(t, "camd-close-twice"); n != 0 {
		t.Errorf("%d mappings left", n)
	}
}

func TestMapFileRefuses(t *testing.T) {
	unsealed, err := unix.MemfdCreate("camd-test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(unsealed) })
	if err := unix.Ftruncate(unsealed, int64(PageSize)); err != nil {
		t.Fatal(err)
	}
	plain, err := os.Create(t.TempDir() + "/plain")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close() })
	if err := plain.Truncate(int64(PageSize)); err != nil {
		t.Fatal(err)
	}
	sealed := newMemory(t, int64(PageSize), true)
	for _, c := range []struct {
		name     string
		fd       int
		size     int64
		writable bool
		want     error
	}{
		{"may shrink", unsealed, int64(PageSize), false, unix.EPERM},
		{"ordinary file", int(plain.Fd()), int64(PageSize), false, unix.EPERM},
		{"longer than the file", sealed.FD, int64(PageSize) + 1, false, unix.EINVAL},
		{"no bytes", sealed.FD, 0, false, unix.EINVAL},
		{"negative", sealed.FD, -1, false, unix.EINVAL},
		{"writable though sealed", sealed.FD, int64(PageSize), true, unix.EPERM},
		{"closed descriptor", -1, int64(PageSize), false, unix.EBADF},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := MapFile(c.fd, c.size, c.writable)
			if b != nil || !errors.Is(err, c.want) {
				t.Errorf("got %d bytes, %v; want %v", len(b), err, c.want)
			}
		})
	}
}

// Mapping a file with holes must not fill them at the reader's cost.
func TestMapFileLeavesHoles(t *testing.T) {
	const size = 64 << 20
	fd, err := unix.MemfdCreate("camd-test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, size); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		t.Fatal(err)
	}
	b, err := MapFile(fd, size, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(b) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	if st.Blocks != 0 {
		t.Errorf("%d bytes of a file with nothing in it were made", st.Blocks*512)
	}
}

func TestPageRound(t *testing.T) {
	p := int64(PageSize)
	for in, want := range map[int64]int64{0: 0, 1: p, p - 1: p, p: p, p + 1: 2 * p} {
		if got := PageRound(in); got != want {
			t.Errorf("PageRound(%d) = %d, want %d", in, got, want)
		}
	}
}
