// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuframe

import (
	"errors"
	"fmt"
	"runtime"

	"gorgonia.org/cu"

	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/frame"
)

// Frame is a frame in memory of the GPU for work of cu. It is the same lease as
// the gpu.Frame that it was made of: whichever of the two is released, or at the
// end of the turn of the loop that it came in, both are. A program that takes frames
// by Next keeps it until then: one that was garbage collected before is told in the
// log, at the next OnDevice.
type Frame struct {
	context *Context
	frame   gpu.Frame
	view    gpu.View
	mark    *mark
}

// Plane is one rectangle of samples in memory of the GPU.
type Plane struct {
	Ptr      cu.DevicePtr
	Pitch    int // bytes from one row to the next
	RowBytes int // that carry samples
	Rows     int
}

// OnDevice says that work of s is going to read the frame, as gpu.Frame.OnDevice
// does, and where it is: for one that came by cuda there is nothing to wait for,
// for one that is uploaded s waits. Work must only be queued on s after the call.
// It fails with ErrDevice, ErrContext, ErrClosed, ErrReleased, or as client/gpu
// does.
func (c *Context) OnDevice(f gpu.Frame, s cu.Stream) (*Frame, error) {
	sub := f.Subscription()
	if sub == nil {
		return nil, ErrReleased
	}
	if d := sub.Device(); d != c.dev {
		return nil, fmt.Errorf("%w: the frame's is %s (%s), this context's %s (%s)", ErrDevice, d.Name(), d.UUID(), c.dev.Name(), c.dev.UUID())
	}
	m := &mark{frame: f, stream: sub.Info().Name, sequence: f.Meta().Sequence}
	runtime.Callers(2, m.pc[:])
	if err := c.add(m); err != nil {
		return nil, err
	}
	view, err := c.use(f, s)
	if err != nil {
		c.drop(m)
		return nil, err
	}
	h := &Frame{context: c, frame: f, view: view, mark: m}
	m.cleanup = runtime.AddCleanup(h, (*mark).collected, m)
	return h, nil
}

func (c *Context) use(f gpu.Frame, s cu.Stream) (gpu.View, error) {
	if err := c.check(s); err != nil {
		return gpu.View{}, err
	}
	return f.OnDevice(ToGPU(s))
}

// Ptr is where the frame begins, in memory of the context's GPU that is mapped for
// reading only, where the GPU can do that. It is good for work that is queued on
// the streams that were named, before Release. It fails with ErrReleased.
func (h *Frame) Ptr() (cu.DevicePtr, error) {
	if err := h.held(); err != nil {
		return 0, err
	}
	return cu.DevicePtr(h.view.Ptr), nil
}

// Plane is the plane i of Geometry().PlaneCount. It fails with ErrReleased.
func (h *Frame) Plane(i int) (Plane, error) {
	if err := h.held(); err != nil {
		return Plane{}, err
	}
	p := h.view.Plane(i)
	return Plane{Ptr: cu.DevicePtr(p.Ptr), Pitch: p.Pitch, RowBytes: p.RowBytes, Rows: p.Rows}, nil
}

func (h *Frame) held() error {
	if h.frame.Released() {
		return h.gone()
	}
	return nil
}

func (h *Frame) gone() error {
	return fmt.Errorf("%w: frame %d of %s, taken in %s", ErrReleased, h.mark.sequence, h.mark.stream, h.mark.where())
}

// Bytes is how many the frame has.
func (h *Frame) Bytes() int { return h.view.Bytes }

// Geometry is the frame's size and layout.
func (h *Frame) Geometry() frame.Geometry { return h.view.Geometry }

// UseOn says that work of a further stream is going to read the frame, too, as
// OnDevice does.
func (h *Frame) UseOn(s cu.Stream) error {
	if err := h.held(); err != nil {
		return err
	}
	_, err := h.context.use(h.frame, s)
	return err
}

// Release gives the frame back when the GPU is done with what was queued up to
// now on the streams that were named, as gpu.Frame.Release does. It does not wait.
func (h *Frame) Release() error {
	err := h.frame.Release()
	if errors.Is(err, ErrReleased) {
		err = h.gone()
	}
	h.mark.cleanup.Stop()
	h.context.drop(h.mark)
	return err
}
