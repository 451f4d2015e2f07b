// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuframe

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"

	"gorgonia.org/cu"

	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/internal/dl"
)

// Context is the primary context of a GPU, in which frames are and work on them
// must be. Its methods may be called from any goroutine.
type Context struct {
	dev      *gpu.Device
	cu       cu.CUContext
	ordinal  cu.Device
	streamOf dl.Func // cuStreamGetCtx

	mu     sync.Mutex
	frames map[*mark]struct{} // that were not seen to be released
	closed bool
}

// soname is what cu is linked with; opened again, it is the same library.
const soname = "libcuda.so.1"

// Open retains the primary context of dev's GPU. Which one that is, the first
// frames by cuda decide, if gpu.WithDevice did not; where nothing has decided yet,
// Open does, for the first GPU that the process sees, and frames on another one
// then come by shm. So it is called with the first frame in hand: Subscribe does not
// wait for a camera that is only starting. It fails with ErrDriver, or as client/gpu
// or cu do.
func Open(dev *gpu.Device) (*Context, error) {
	c := &Context{dev: dev, frames: map[*mark]struct{}{}}
	library, err := dl.Open(soname)
	if err != nil {
		return nil, err
	}
	if c.streamOf, err = library.Symbol("cuStreamGetCtx"); err != nil {
		return nil, err
	}
	// This is also what has dev begin with a GPU.
	var theirs cu.CUContext
	if err := dev.Do(func(*driver.Thread) (err error) {
		theirs, err = cu.CurrentContext()
		return err
	}); err != nil {
		return nil, err
	}
	if c.ordinal, err = cu.GetDevice(dev.Ordinal()); err != nil {
		return nil, fmt.Errorf("cu: device %d: %w", dev.Ordinal(), err)
	}
	if c.cu, err = c.ordinal.RetainPrimaryCtx(); err != nil {
		return nil, fmt.Errorf("cu: primary context of %v: %w", c.ordinal, err)
	}
	if theirs != c.cu {
		err := fmt.Errorf("%w: cu's is %s, in which the context of %s is not current where client/gpu has made it so; do not name another to gpu.Open or in %s", ErrDriver, dl.File(c.streamOf), dev.Name(), gpu.EnvLibrary)
		return nil, errors.Join(err, c.ordinal.ReleasePrimaryCtx())
	}
	return c, nil
}

// CUContext is the context for calls of cu that take one. It is retained until
// Close. It must not be destroyed, nor made a cu.Ctx of, which cu destroys when it
// is closed or garbage collected: others use it, too.
func (c *Context) CUContext() cu.CUContext { return c.cu }

// Device is the GPU as cu numbers it.
func (c *Context) Device() cu.Device { return c.ordinal }

// Do runs f on the calling goroutine, held on its thread, with the context
// current there, as calls of cu want it. What was current before is so again
// afterwards, also after a panic. It fails with ErrClosed, or as f does.
func (c *Context) Do(f func() error) (err error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return ErrClosed
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.PushCurrentCtx(c.cu); err != nil {
		return fmt.Errorf("cu: making the context current: %w", err)
	}
	defer func() {
		if _, popErr := cu.PopCurrentCtx(); popErr != nil && err == nil {
			err = fmt.Errorf("cu: restoring the context: %w", popErr)
		}
	}()
	return f()
}

// check fails with ErrContext if s is no stream of the context. The default
// streams, which are of every context, client/gpu refuses.
func (c *Context) check(s cu.Stream) error {
	if ToGPU(s) <= lastDefault {
		return nil
	}
	out := new([1]uintptr)
	var failed *driver.Error
	err := c.Do(func() error {
		if r := driver.Result(c.streamOf.Call([]uintptr{uintptr(ToGPU(s)), dl.Address(&out[0])})); r != driver.Success {
			return &driver.Error{Code: r, Call: "cuStreamGetCtx"}
		}
		return nil
	})
	switch {
	case driver.Sticky(err):
		// The call tells what work before it did to the GPU, of which dev makes ErrLost.
		return c.dev.Do(func(*driver.Thread) error { return err })
	case errors.As(err, &failed):
		return fmt.Errorf("%w: %#x: %w", gpu.ErrStream, uintptr(ToGPU(s)), err)
	case err != nil:
		return err
	}
	if ours := contextHandle(c.cu); out[0] != ours {
		return fmt.Errorf("%w: stream %#x is of context %#x, frames are in %#x, the primary one of %s", ErrContext, uintptr(ToGPU(s)), out[0], ours, c.dev.Name())
	}
	return nil
}

// Close lets go of the context. It fails with ErrInUse, and does nothing, while
// frames of OnDevice are not released. Streams, modules and memory of the program
// must be destroyed before, unless it has retained the context itself. On a GPU that
// failed it fails as cu does; the context goes with the process then.
func (c *Context) Close() error {
	c.sweep()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	for m := range c.frames {
		err := fmt.Errorf("%w: %d frames were not released, one of %s", ErrInUse, len(c.frames), m.where())
		slog.Error("CUDA context closed while frames are held", "err", err)
		return err
	}
	c.closed = true
	if err := c.ordinal.ReleasePrimaryCtx(); err != nil {
		return fmt.Errorf("cu: letting go of the context: %w", err)
	}
	return nil
}
