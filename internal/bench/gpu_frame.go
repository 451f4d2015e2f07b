// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"time"

	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// hostSubscription is one of a process that would use a GPU and has none.
type hostSubscription struct {
	subscription
	why error
}

// gpuSubscription hands out frames that are in memory of the GPU, in one box that
// is used again. A phase holds one at a time.
type gpuSubscription struct {
	*gpu.Subscription
	info   GPUInfo
	thread *driver.Thread // of the device; nothing else waits for it
	stream gpu.Stream
	done   driver.Event
	box    gpuFrame

	scratch gpu.Ptr // that frames are copied to, to have them read
	room    int64
	pixel   []byte // pinned
	at, n   int    // of the pixel

	waiting, copying, fetching func() error
}

// spinFor is how long the end of work is asked for before the thread sleeps: an
// upload of 40 MB takes less.
const spinFor = 5 * time.Millisecond

// prepare makes what all frames need.
func (s *gpuSubscription) prepare() (err error) {
	if s.stream, err = s.Device().NewStream(); err != nil {
		return err
	}
	return s.Device().Do(func(t *driver.Thread) (err error) {
		s.thread = t
		if s.pixel, err = t.HostAlloc(pixelBytes); err != nil {
			return err
		}
		s.done, err = t.NewEvent()
		return err
	})
}

// Close implements Subscription. The GPU is used no longer.
func (s *gpuSubscription) Close() error {
	err := s.Subscription.Close()
	if s.thread != nil {
		err = errors.Join(err, s.thread.Do(func() error {
			var errs []error
			if s.scratch != 0 {
				errs = append(errs, s.thread.Free(s.scratch))
			}
			if s.pixel != nil {
				errs = append(errs, s.thread.HostFree(s.pixel))
			}
			if s.done != 0 {
				errs = append(errs, s.thread.DestroyEvent(s.done))
			}
			return errors.Join(errs...)
		}))
	}
	return errors.Join(err, s.Device().Close())
}

// Next implements Subscription: the frame is in memory of the GPU, and complete
// there, when it returns.
func (s *gpuSubscription) Next(ctx context.Context) (Frame, error) {
	f, err := s.Subscription.Next(ctx)
	if err != nil {
		return nil, err
	}
	b := &s.box
	b.Frame = f
	if b.view, err = f.OnDevice(s.stream); err == nil {
		if ptr, _ := f.Device(); ptr == 0 { // it is on its way there
			err = s.thread.Do(s.waiting)
		}
	}
	if err != nil {
		b.Release()
		return nil, err
	}
	b.usable = linux.Monotonic()
	return b, nil
}

// wait returns when what is queued is complete.
func (s *gpuSubscription) wait() error {
	if err := s.thread.Record(s.done, s.stream); err != nil {
		return err
	}
	return s.thread.Wait(s.done, spinFor)
}

// copy copies the frame within memory of the GPU.
func (s *gpuSubscription) copy() (err error) {
	n := int64(s.box.view.Bytes)
	if s.room < n {
		if p := s.scratch; p != 0 {
			s.scratch, s.room = 0, 0
			if err := s.thread.Free(p); err != nil {
				return err
			}
		}
		if s.scratch, err = s.thread.Alloc(n); err != nil {
			return err
		}
		s.room = n
	}
	if err := s.thread.DtoD(s.scratch, s.box.view.Ptr, n, s.stream); err != nil {
		return err
	}
	return s.wait()
}

// fetch copies a pixel to the host.
func (s *gpuSubscription) fetch() error {
	if err := s.thread.DtoH(s.pixel[:s.n], s.box.view.Ptr+gpu.Ptr(s.at), s.stream); err != nil {
		return err
	}
	return s.wait()
}

// gpuFrame is a frame in memory of the GPU.
type gpuFrame struct {
	gpu.Frame
	sub    *gpuSubscription
	view   gpu.View
	usable int64
}

// HeldNanos is when the frame was complete on the GPU.
func (f *gpuFrame) HeldNanos() int64 { return f.usable }

// Release implements Frame. What goes wrong is logged by the device.
func (f *gpuFrame) Release() { _ = f.Frame.Release() }

// touchThere has the GPU read every byte, by a copy within its memory, and waits.
func (f *gpuFrame) touchThere() error { return f.sub.thread.Do(f.sub.copying) }

// readThere copies some bytes to the host.
func (f *gpuFrame) readThere(dst []byte, at int) error {
	s := f.sub
	if at+len(dst) > f.view.Bytes {
		return nil
	}
	s.at, s.n = at, len(dst)
	err := s.thread.Do(s.fetching)
	copy(dst, s.pixel)
	return err
}

// elsewhere is a Frame whose bytes the CPU does not see.
type elsewhere interface {
	touchThere() error
	readThere(dst []byte, at int) error
}

var _ elsewhere = (*gpuFrame)(nil)
