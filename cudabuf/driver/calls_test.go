// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/internal/dl"
)

// Numbers that do not fit into 32 bits: they must arrive whole.
const (
	ptr    Ptr    = 0x7f12_3456_789a_b000
	ptr2   Ptr    = 0x7f65_4321_0fed_c000
	size   int64  = 5<<32 + 4096
	handle Handle = 0xfedc_ba98_7654_3210
	stream Stream = 0x5555_1234_5678_9ab0
	event  Event  = 0x5555_8765_4321_0fe0

	out = ^uint64(0) // any address, for what the library fills
)

// Each method reaches its function with its arguments in C's order.
func TestArguments(t *testing.T) {
	f := newFake(t)
	th := f.start(t)
	host := make([]byte, 8192)
	at := uint64(dl.Address(&host[0]))
	times := func(place int, v uint64) uint64 { return uint64(place) * v }
	value := func(_ any, err error) error { return err }
	for _, c := range []struct {
		name string
		call func() error
		args []uint64
	}{
		{"cuMemAlloc_v2", func() error { return value(th.Alloc(size)) }, []uint64{out, uint64(size)}},
		{"cuMemFree_v2", func() error { return th.Free(ptr) }, []uint64{uint64(ptr)}},
		{"cuMemHostAlloc", func() error { return value(th.HostAlloc(4096)) }, []uint64{out, 4096, 1}},
		{"cuMemFreeHost", func() error { return th.HostFree(host) }, []uint64{at}},
		{"cuMemHostRegister_v2", func() error { return th.HostRegister(host, false) }, []uint64{at, 8192, 1}},
		{"cuMemHostRegister_v2", func() error { return th.HostRegister(host[4096:], true) }, []uint64{at + 4096, 4096, 9}},
		{"cuMemHostUnregister", func() error { return th.HostUnregister(host) }, []uint64{at}},
		{"cuMemGetAllocationGranularity", func() error { return value(th.Granularity()) }, []uint64{out, out, 0}},
		{"cuMemCreate", func() error { return value(th.MemCreate(size)) }, []uint64{out, uint64(size), out, 0}},
		{"cuMemRelease", func() error { return th.MemRelease(handle) }, []uint64{uint64(handle)}},
		{"cuMemAddressReserve", func() error { return value(th.Reserve(size, 1<<40)) }, []uint64{out, uint64(size), 1 << 40, 0, 0}},
		{"cuMemAddressFree", func() error { return th.AddressFree(ptr, size) }, []uint64{uint64(ptr), uint64(size)}},
		{"cuMemMap", func() error { return th.Map(ptr, size, handle) }, []uint64{uint64(ptr), uint64(size), 0, uint64(handle), 0}},
		{"cuMemUnmap", func() error { return th.Unmap(ptr, size) }, []uint64{uint64(ptr), uint64(size)}},
		{"cuMemSetAccess", func() error { return th.SetAccess(ptr, size, false) }, []uint64{uint64(ptr), uint64(size), 1_070_001, 1}},
		{"cuMemSetAccess", func() error { return th.SetAccess(ptr, size, true) }, []uint64{uint64(ptr), uint64(size), 1_070_003, 1}},
		{"cuMemImportFromShareableHandle", func() error { return value(th.ImportFD(42)) }, []uint64{out, 42, 1}},
		{"cuMemcpyHtoDAsync_v2", func() error { return th.HtoD(ptr, host, stream) }, []uint64{uint64(ptr), at, 8192, uint64(stream)}},
		{"cuMemcpyDtoHAsync_v2", func() error { return th.DtoH(host, ptr, stream) }, []uint64{at, uint64(ptr), 8192, uint64(stream)}},
		{"cuMemcpyDtoDAsync_v2", func() error { return th.DtoD(ptr, ptr2, size, stream) }, []uint64{uint64(ptr), uint64(ptr2), uint64(size), uint64(stream)}},
		{"cuMemsetD8Async", func() error { return th.Memset8(ptr, 0xa5, size, stream) }, []uint64{uint64(ptr), 0xa5, uint64(size), uint64(stream)}},
		{"cuStreamCreateWithPriority", func() error { return value(th.NewStream(5)) }, []uint64{out, 1, 5}},
		{"cuStreamDestroy_v2", func() error { return th.DestroyStream(stream) }, []uint64{uint64(stream)}},
		{"cuStreamSynchronize", func() error { return th.StreamSync(stream) }, []uint64{uint64(stream)}},
		{"cuCtxSynchronize", func() error { return th.Sync() }, nil},
		{"cuStreamQuery", func() error { return value(th.StreamQuery(stream)) }, []uint64{uint64(stream)}},
		{"cuStreamWaitEvent", func() error { return th.StreamWait(stream, event) }, []uint64{uint64(stream), uint64(event), 0}},
		{"cuEventCreate", func() error { return value(th.NewEvent()) }, []uint64{out, 3}},
		{"cuEventRecord", func() error { return th.Record(event, stream) }, []uint64{uint64(event), uint64(stream)}},
		{"cuEventQuery", func() error { return value(th.EventQuery(event)) }, []uint64{uint64(event)}},
		{"cuEventSynchronize", func() error { return th.EventSync(event) }, []uint64{uint64(event)}},
		{"cuEventDestroy_v2", func() error { return th.DestroyEvent(event) }, []uint64{uint64(event)}},
		// The fake adds a copy's 16 words up, each times its place: 1 based.
		{"cuMemcpy2DAsync_v2", func() error {
			return th.Copy2D(&Copy2D{SrcDevice: ptr, SrcPitch: 512, DstDevice: ptr2, DstPitch: 768, Width: 300, Height: 20}, stream)
		}, []uint64{3*2 + times(5, uint64(ptr)) + 7*512 + 10*2 + times(12, uint64(ptr2)) + 14*768 + 15*300 + 16*20, uint64(stream)}},
		{"cuMemcpy2DAsync_v2", func() error {
			return th.Copy2D(&Copy2D{SrcHost: host, SrcPitch: 300, DstDevice: ptr2, DstPitch: 768, Width: 300, Height: 20}, stream)
		}, []uint64{3*1 + times(4, at) + 7*300 + 10*2 + times(12, uint64(ptr2)) + 14*768 + 15*300 + 16*20, uint64(stream)}},
		{"cuMemcpy2DAsync_v2", func() error {
			return th.Copy2D(&Copy2D{SrcDevice: ptr, SrcPitch: 512, DstHost: host, DstPitch: 310, Width: 300, Height: 20}, stream)
		}, []uint64{3*2 + times(5, uint64(ptr)) + 7*512 + 10*1 + times(11, at) + 14*310 + 15*300 + 16*20, uint64(stream)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := th.Do(c.call); err != nil {
				t.Fatal(err)
			}
			name, args := lastCall(t, f, len(c.args))
			for i, want := range c.args {
				if want == out && args[i] > 1<<16 {
					args[i] = out
				}
			}
			if name != c.name || !slices.Equal(args, c.args) {
				t.Errorf("got  %s%#x\nwant %s%#x", name, args, c.name, c.args)
			}
			// Outside of Do nothing of the kind.
			before := th.Calls()
			if err := c.call(); !errors.Is(err, ErrThread) || th.Calls() != before {
				t.Errorf("outside of Do: %v", err)
			}
		})
	}
}

// What the library fills arrives whole, too.
func TestResults(t *testing.T) {
	f := newFake(t)
	th := f.start(t)
	check := func(what string, err error, got, want any) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", what, got, err, want)
		}
	}
	if err := th.Do(func() error {
		free, total, err := th.MemInfo()
		check("MemInfo", err, [2]int64{free, total}, [2]int64{7 << 30, 9 << 32})
		granularity, err := th.Granularity()
		check("Granularity", err, granularity, int64(2<<20))
		h, err := th.MemCreate(size)
		check("MemCreate", err, h, Handle(0xffff0000+70))
		info, err := th.PointerInfo(ptr + 5)
		check("PointerInfo", err, info, PointerInfo{Base: ptr, Bytes: 1 << 33, Device: 3, BufferID: 77 << 32, PosixFD: true})
		least, greatest, err := th.StreamPriorities()
		check("StreamPriorities", err, [2]int{least, greatest}, [2]int{0, -5})

		b, err := th.HostAlloc(4096)
		check("HostAlloc", err, [2]int{len(b), cap(b)}, [2]int{4096, 4096})
		b[0], b[4095] = 1, 1

		fd, err := th.ExportFD(handle)
		if err != nil {
			return err
		}
		_, args := lastCall(t, f, 4)
		check("ExportFD", err, [3]uint64(args[1:]), [3]uint64{uint64(handle), 1, 0})
		// The fake's is inherited by children.
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if errno != 0 || flags != syscall.FD_CLOEXEC {
			t.Errorf("descriptor %d: flags %#x, %v", fd, flags, errno)
		}
		if err := syscall.Close(fd); err != nil {
			t.Error(err)
		}
		f.call(t, "fake_fail", uintptr(NotSupported))
		if fd, err := th.ExportFD(handle); fd != -1 || resultOf(err) != NotSupported {
			t.Errorf("got %d, %v", fd, err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestCopy2DChecks(t *testing.T) {
	th := newFake(t).start(t)
	before := th.Calls()
	if err := th.Do(func() error {
		for _, c := range []Copy2D{
			{SrcHost: make([]byte, 299), SrcPitch: 100, DstDevice: ptr, DstPitch: 512, Width: 100, Height: 3},
			{SrcDevice: ptr, SrcPitch: 512, DstHost: make([]byte, 499), DstPitch: 200, Width: 100, Height: 3},
			{SrcHost: make([]byte, 300), SrcPitch: 99, DstDevice: ptr, DstPitch: 512, Width: 100, Height: 3},
			{SrcHost: make([]byte, 300), SrcPitch: 100, DstDevice: ptr, DstPitch: 99, Width: 100, Height: 3},
			{SrcHost: []byte{}, SrcPitch: 100, DstDevice: ptr, DstPitch: 100, Width: 1, Height: 1},
			{SrcHost: make([]byte, 300), SrcPitch: 1 << 62, DstDevice: ptr, DstPitch: 100, Width: 1, Height: 4},
		} {
			if err := th.Copy2D(&c, stream); !errors.Is(err, ErrBadCopy) {
				t.Errorf("%d bytes to %d: %v", len(c.SrcHost), len(c.DstHost), err)
			}
		}
		for _, nothing := range []Copy2D{{Width: 0, Height: 3}, {Width: 3}} {
			if err := th.Copy2D(&nothing, stream); err != nil {
				t.Error(err)
			}
		}
		return errors.Join(th.HtoD(ptr, nil, stream), th.DtoH(nil, ptr, stream))
	}); err != nil {
		t.Error(err)
	}
	if n := th.Calls() - before; n != 0 {
		t.Errorf("%d calls", n)
	}
}

// Queries that are not done yet are answers, not errors.
func TestWait(t *testing.T) {
	f := newFake(t)
	th := f.start(t)
	for _, c := range []struct {
		name    string
		pending uintptr
		spin    time.Duration
		calls   uint64 // 0: any
		last    string
	}{
		{"done", 0, time.Hour, 1, "cuEventQuery"},
		{"done soon", 5, time.Hour, 6, "cuEventQuery"},
		{"done later", 1 << 30, time.Microsecond, 0, "cuEventSynchronize"},
		{"asleep at once", 5, 0, 1, "cuEventSynchronize"},
	} {
		f.call(t, "fake_pending", c.pending)
		before := th.Calls()
		if err := th.Do(func() error { return th.Wait(event, c.spin) }); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if last, _ := lastCall(t, f, 0); last != c.last || c.calls != 0 && th.Calls()-before != c.calls {
			t.Errorf("%s: %d calls, the last %s", c.name, th.Calls()-before, last)
		}
	}
	f.call(t, "fake_pending", 1)
	_ = th.Do(func() error {
		for i, ask := range []func() (bool, error){
			func() (bool, error) { return th.StreamQuery(stream) },
			func() (bool, error) { return th.StreamQuery(stream) },
			func() (bool, error) { return th.EventQuery(event) },
		} {
			if done, err := ask(); done != (i > 0) || err != nil {
				t.Errorf("query %d: %t, %v", i, done, err)
			}
		}
		f.call(t, "fake_fail", uintptr(LaunchFailed))
		if done, err := th.EventQuery(event); done || !Sticky(err) {
			t.Errorf("%t, %v", done, err)
		}
		if err := th.Wait(event, time.Hour); !Sticky(err) {
			t.Error(err)
		}
		return nil
	})
}

// The calls of a frame, and the way to the thread, allocate nothing.
func TestCallsDoNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("sync.Pool, which purego takes memory from, then drops some of it")
	}
	f := newFake(t)
	th := f.start(t)
	host := make([]byte, 4096)
	copy2D := Copy2D{SrcHost: host, SrcPitch: 64, DstDevice: ptr, DstPitch: 512, Width: 64, Height: 64}
	frame := func() error {
		err := th.HtoD(ptr, host, stream)
		if err == nil {
			err = th.DtoH(host, ptr, stream)
		}
		if err == nil {
			err = th.Copy2D(&copy2D, stream)
		}
		if err == nil {
			err = th.Memset8(ptr, 0, 4096, stream)
		}
		if err == nil {
			err = th.StreamWait(stream, event)
		}
		if err == nil {
			err = th.Record(event, stream)
		}
		if err == nil {
			_, err = th.StreamQuery(stream)
		}
		if err == nil {
			err = th.Wait(event, time.Millisecond)
		}
		return err
	}
	before := th.Calls()
	const runs = 200
	if n := testing.AllocsPerRun(runs, func() {
		if err := th.Do(frame); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per frame", n)
	}
	if n := th.Calls() - before; n != 8*(runs+1) {
		t.Errorf("%d calls in %d frames", n, runs+1)
	}

	setup := func() error {
		h, err := th.MemCreate(size)
		if err == nil {
			_, err = th.Reserve(size, 0)
		}
		if err == nil {
			err = th.Map(ptr, size, h)
		}
		if err == nil {
			err = th.SetAccess(ptr, size, true)
		}
		if err == nil {
			_, err = th.PointerInfo(ptr)
		}
		if err == nil {
			_, err = th.NewStream(0)
		}
		if err == nil {
			err = th.HostRegister(host, true)
		}
		if err == nil {
			_, _, err = th.MemInfo()
		}
		return err
	}
	if n := testing.AllocsPerRun(runs, func() {
		if err := th.Do(setup); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations to set up", n)
	}
}

func BenchmarkDo(b *testing.B) {
	th := newFake(b).start(b)
	nothing := func() error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		_ = th.Do(nothing)
	}
}

func BenchmarkCall(b *testing.B) {
	th := newFake(b).start(b)
	b.ReportAllocs()
	_ = th.Do(func() error {
		for b.Loop() {
			_ = th.Record(event, stream)
		}
		return nil
	})
}
