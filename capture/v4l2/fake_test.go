// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/frame"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func code(s string) frame.FourCC {
	c, err := frame.ParseFourCC(s)
	if err != nil {
		panic(err)
	}
	return c
}

// fakeFormat is a pixel format with discrete sizes and their rates.
type fakeFormat struct {
	code  frame.FourCC
	flags uint32
	sizes []fakeSize
	// grid makes sizes[0] the largest of a stepwise range.
	grid bool
}

type fakeSize struct {
	w, h  uint32
	rates []uint32
}

// fakeDriver is a driver made of Go, behind the kernel interface. Its frames
// are made by produce; a frame's bytes all have one value.
type fakeDriver struct {
	formats  []fakeFormat
	mplane   bool
	noUser   bool                // refuses user pointers
	most     uint32              // buffers that it grants at most; 0 = 32
	adjust   func(*pixFormat)    // its way with requested formats
	rate     func(uint32) uint32 // its way with requested rates; nil = obeys
	fail     map[uint]error      // requests that fail
	failOnce map[uint]error
	inputs   []input
	timings  error // of QUERY_DV_TIMINGS
	controls []queryExtCtrl
	oldCtrl  bool // knows only QUERYCTRL
	memBytes int  // of its own buffers; 0 = sizeimage
	noParm   bool

	mu       sync.Mutex
	ready    int     // eventfd: a frame is ready
	one      [8]byte // what is written to it, and read from it
	count    [8]byte
	revents  int16
	current  pixFormat
	parm     fraction
	granted  uint32
	memory   uint32
	mem      [32][]byte
	queued   []buffer
	planes   [32][maxPlanes]plane
	done     []buffer
	on       bool
	closed   bool
	opened   int
	events   int
	set      []control         // controls that were set
	partners map[uint32]uint64 // by index: the address that it came with last
	repinned int               // indexes that came with another address than before
	memories map[uint64][]byte
}

func newFake(t testing.TB) *fakeDriver {
	t.Helper()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK|unix.EFD_SEMAPHORE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return &fakeDriver{
		formats: []fakeFormat{
			{code: code("YUYV"), sizes: []fakeSize{{64, 48, []uint32{30, 15}}, {32, 24, []uint32{30}}}},
			{code: code("MJPG"), flags: fmtFlagCompressed, sizes: []fakeSize{{640, 480, []uint32{30}}}},
		},
		fail: map[uint]error{}, failOnce: map[uint]error{}, ready: fd, one: [8]byte{1},
		partners: map[uint32]uint64{}, memories: map[uint64][]byte{},
		queued: make([]buffer, 0, 64), done: make([]buffer, 0, 64),
	}
}

// open is what a Source is given in place of openNode.
func (f *fakeDriver) open(string) (kernel, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.failOnce[0]; err != nil {
		delete(f.failOnce, 0)
		return nil, err
	}
	f.opened++
	f.closed = false
	if f.current.Width == 0 {
		f.current = pixFormat{Width: 64, Height: 48, PixelFormat: uint32(f.formats[0].code), Field: fieldNone}
		f.complete(&f.current)
	}
	f.parm = fraction{1, 30}
	return f, nil
}

// alloc is memory for slots that the driver can find by its address.
func (f *fakeDriver) alloc(bytes int) []byte {
	b := make([]byte, bytes)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.memories[uint64(uintptr(unsafe.Pointer(&b[0])))] = b
	return b
}

func (f *fakeDriver) sink(slots int) *capturetest.Sink {
	return &capturetest.Sink{Slots: slots, Alloc: f.alloc}
}

func (f *fakeDriver) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed, f.on = true, false
	f.queued, f.done = f.queued[:0], f.done[:0]
	return nil
}

func (f *fakeDriver) mmap(offset int64, length int) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mem[offset>>12][:length:length], nil
}

func (f *fakeDriver) munmap([]byte) error { return nil }

func (f *fakeDriver) poll(p *[2]unix.PollFd, timeout int) error {
	p[0].Fd, p[0].Revents = int32(f.ready), 0
	if _, err := unix.Poll(p[:], timeout); err != nil && !errors.Is(err, unix.EINTR) {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if p[0].Revents != 0 {
		if len(f.done) == 0 && f.revents == 0 {
			p[0].Revents = unix.POLLIN
		}
		if f.revents != 0 {
			p[0].Revents = f.revents
		}
	}
	return nil
}

// signal wakes poll.
func (f *fakeDriver) signal() { _, _ = unix.Write(f.ready, f.one[:]) }

func (f *fakeDriver) unsignal() { _, _ = unix.Read(f.ready, f.count[:]) }

// trouble makes poll report events.
func (f *fakeDriver) trouble(events int16) {
	f.mu.Lock()
	f.revents = events
	f.mu.Unlock()
	f.signal()
}

// filling is a frame to be made.
type filling struct {
	sequence uint32
	flags    uint32
	used     int // bytes; 0 = the whole image
	value    byte
	content  []byte // instead of bytes of one value
	micros   int64
	index    int // told instead of the right one, if > 0
}

// produce fills the oldest queued buffer. It reports false when there is none.
func (f *fakeDriver) produce(p filling) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.on || len(f.queued) == 0 {
		return false
	}
	b := f.queued[0]
	f.queued = slices.Delete(f.queued, 0, 1)
	i := b.Index
	lay := f.planeSizes()
	for n, size := range lay {
		address, memory := b.M, f.mem[i]
		if f.mplane {
			address = f.planes[i][n].M
		}
		if f.memory == memoryUserptr {
			memory = f.find(address)
		}
		used := size
		if p.used > 0 {
			used = p.used
		}
		if p.content != nil {
			used = copy(memory[:min(len(memory), size)], p.content)
		}
		for k := range memory[:min(used, len(memory), size)] {
			if p.content == nil {
				memory[k] = p.value
			}
		}
		f.planes[i][n].BytesUsed = uint32(used)
		b.BytesUsed = uint32(used)
	}
	b.Sequence, b.Flags, b.Micros = p.sequence, bufFlagMonotonic|p.flags, p.micros
	if p.index > 0 {
		b.Index = uint32(p.index)
	}
	f.done = append(f.done, b)
	f.signal()
	return true
}

// find is the memory from an address on.
func (f *fakeDriver) find(address uint64) []byte {
	for start, m := range f.memories {
		if address >= start && address < start+uint64(cap(m)) {
			return m[:cap(m)][address-start:]
		}
	}
	return nil
}

// planeSizes are the bytes of the planes that the driver writes.
func (f *fakeDriver) planeSizes() []int {
	if f.mplane && frame.FourCC(f.current.PixelFormat) == twoPlanes {
		luma := int(f.current.BytesPerLine * f.current.Height)
		return []int{luma, luma / 2}
	}
	return []int{int(f.current.SizeImage)}
}

// complete fills in what a well-behaved driver would say.
func (f *fakeDriver) complete(p *pixFormat) {
	per := uint32(2)
	switch frame.FourCC(p.PixelFormat) {
	case code("RGB3"), code("BGR3"):
		per = 3
	case code("GREY"), code("NV12"), twoPlanes:
		per = 1
	}
	p.BytesPerLine = p.Width * per
	p.SizeImage = p.BytesPerLine * p.Height
	if c := frame.FourCC(p.PixelFormat); c == code("NV12") || c == twoPlanes {
		p.SizeImage = p.SizeImage * 3 / 2
	}
	p.Field = fieldNone
}

// settled waits until the source took every frame that was made and the driver
// has buffers enough again.
func (f *fakeDriver) settled(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(hung)
	for {
		f.mu.Lock()
		done, queued := len(f.done), len(f.queued)
		f.mu.Unlock()
		if done == 0 && queued >= leastQueued {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d frames were not taken, the driver is left with %d buffers", done, queued)
		}
		runtime.Gosched()
	}
}
