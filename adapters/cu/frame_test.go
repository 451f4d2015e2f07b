// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuframe

import (
	"errors"
	"maps"
	"os"
	"strings"
	"testing"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/seed-3c7e7623/camd/capture/pattern"
	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// stream is one of cu's.
func stream(t *testing.T, c *Context) cu.Stream {
	t.Helper()
	var s cu.Stream
	do(t, c, func() (err error) {
		s, err = cu.MakeStream(cu.NonBlocking)
		return err
	})
	t.Cleanup(func() { do(t, c, func() error { return s.Destroy() }) })
	return s
}

// invert is the kernel of the example.
func invert(t *testing.T, c *Context) cu.Function {
	t.Helper()
	text, err := os.ReadFile("example/invert.ptx")
	if err != nil {
		t.Fatal(err)
	}
	var module cu.Module
	var kernel cu.Function
	do(t, c, func() (err error) {
		if module, err = cu.LoadData(string(text)); err != nil {
			return err
		}
		kernel, err = module.Function("invert")
		return err
	})
	t.Cleanup(func() { do(t, c, module.Unload) })
	return kernel
}

// launch queues the kernel on a plane.
func launch(kernel cu.Function, p Plane, out cu.DevicePtr, s cu.Stream) error {
	src, dst, pitch, width, rows := p.Ptr, out, uint64(p.Pitch), uint64(p.RowBytes), uint64(p.Rows)
	args := []unsafe.Pointer{unsafe.Pointer(&src), unsafe.Pointer(&pitch), unsafe.Pointer(&dst), unsafe.Pointer(&width), unsafe.Pointer(&rows)}
	const x, y = 32, 8
	return kernel.Launch((p.RowBytes+x-1)/x, (p.Rows+y-1)/y, 1, x, y, 1, 0, s, args)
}

// Frames that are released when the kernel is queued, and not before it has run,
// come back inverted and whole, on streams of cu and of client/gpu.
func TestKernel(t *testing.T) {
	for _, b := range []negotiate.Backend{cuda, shm} {
		t.Run(string(b), func(t *testing.T) {
			rules(t)
			dev, sub, c := opened(t, b)
			if p := sub.Path(); p.Backend != b || b == cuda && p.GPU != sim.UUID(1) {
				t.Errorf("path %+v", p)
			}
			theirs, err := dev.NewStream()
			if err != nil {
				t.Fatal(err)
			}
			ours := stream(t, c)
			if ToGPU(FromGPU(theirs)) != theirs || FromGPU(ToGPU(ours)) != ours {
				t.Error("a stream is another one on the way back")
			}
			kernel := invert(t, c)
			for i := range 12 {
				inverted(t, dev, sub, c, kernel, []cu.Stream{ours, FromGPU(theirs)}[i%2])
			}
			if n := sub.Counts(); n.Failed+n.Stale != 0 || (b == cuda) != (n.InPlace == 12) || (b == shm) != (n.Registered+n.Staged == 12) {
				t.Errorf("%+v", n)
			}
		})
	}
}

// inverted takes one frame, and checks what the kernel made of it.
func inverted(t *testing.T, dev *gpu.Device, sub *gpu.Subscription, c *Context, kernel cu.Function, s cu.Stream) {
	t.Helper()
	f := next(t, sub)
	number := f.Meta().DriverSequence
	frame, err := c.OnDevice(f, s)
	if err != nil {
		t.Fatal(err)
	}
	g, n := frame.Geometry(), frame.Bytes()
	plane, err := frame.Plane(0)
	if err != nil {
		t.Fatal(err)
	}
	ptr, err := frame.Ptr()
	if err != nil || ptr != plane.Ptr || g.PlaneCount() != 1 || plane.RowBytes*plane.Rows != n {
		t.Fatalf("%v, %v of %d bytes at %v: %v", g, plane, n, ptr, err)
	}
	var host []byte
	var out cu.DevicePtr
	if err := dev.Do(func(th *driver.Thread) (err error) { host, err = th.HostAlloc(n); return err }); err != nil {
		t.Fatal(err)
	}
	do(t, c, func() (err error) {
		if out, err = cu.MemAlloc(int64(n)); err != nil {
			return err
		}
		return launch(kernel, plane, out, s)
	})
	// The frame is no longer needed for what follows.
	if err := frame.Release(); err != nil {
		t.Error(err)
	}
	do(t, c, func() error {
		return errors.Join(cu.MemcpyDtoHAsync(unsafe.Pointer(&host[0]), out, int64(n), s), s.Synchronize(), cu.MemFree(out))
	})
	for i := range host {
		host[i] = ^host[i]
	}
	if got, err := pattern.Verify(g, host); err != nil || got != number {
		t.Errorf("frame %d is %d: %v", number, got, err)
	}
	if err := dev.Do(func(th *driver.Thread) error { return th.HostFree(host) }); err != nil {
		t.Error(err)
	}
}

// What a frame by cuda costs in calls of the driver, besides those of the program
// and the questions whether its work is done.
func TestCost(t *testing.T) {
	rules(t)
	_, sub, c := opened(t, cuda)
	s := stream(t, c)
	use := func() {
		h, err := c.OnDevice(next(t, sub), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Release(); err != nil {
			t.Error(err)
		}
	}
	use()
	before := calls(t)
	const frames = 10
	for range frames {
		use()
	}
	got := map[string]uint64{}
	for name, n := range calls(t) {
		if n -= before[name]; n > 0 && name != "cuEventQuery" {
			got[name] = n
		}
	}
	want := map[string]uint64{"cuCtxPushCurrent_v2": frames, "cuStreamGetCtx": frames, "cuCtxPopCurrent_v2": frames, "cuEventRecord": frames}
	if !maps.Equal(got, want) {
		t.Errorf("%d frames took %v, want %v", frames, got, want)
	}
}

// calls are those of this process, by whichever copy of the driver.
func calls(t *testing.T) map[string]uint64 {
	t.Helper()
	all := map[string]uint64{}
	for _, p := range sim.Processes(t, simDir) {
		if p.PID != os.Getpid() {
			continue
		}
		for name, n := range p.Calls {
			all[name] += n
		}
	}
	return all
}

func TestAfterRelease(t *testing.T) {
	rules(t)
	_, sub, c := opened(t, cuda)
	s := stream(t, c)
	var kept []*Frame
	for f, err := range sub.Frames(bounded(t)) {
		if err != nil {
			t.Fatal(err)
		}
		h, err := c.OnDevice(f, s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Ptr(); err != nil {
			t.Fatal(err)
		}
		if kept = append(kept, h); len(kept) == 3 {
			break
		}
		switch len(kept) {
		case 1:
			err = h.Release()
		case 2:
			err = f.Release()
		}
		if err != nil {
			t.Error(err)
		}
	}
	for i, h := range kept { // by itself, by the gpu.Frame, by the loop
		p, err := h.Ptr()
		_, planeErr := h.Plane(0)
		for what, err := range map[string]error{"Ptr": err, "Plane": planeErr, "UseOn": h.UseOn(s), "second Release": h.Release()} {
			if p != 0 || !errors.Is(err, ErrReleased) || !strings.Contains(err.Error(), "frame_test.go:") {
				t.Errorf("%d: %s: %v, %v", i, what, p, err)
			}
		}
	}
	if _, err := c.OnDevice(gpu.Frame{}, s); !errors.Is(err, ErrReleased) {
		t.Errorf("no frame: %v", err)
	}
}
