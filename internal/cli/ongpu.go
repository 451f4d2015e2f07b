// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"log/slog"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/client/gpu"
)

// subscribeOnGPU subscribes with a GPU of its own. Without one, frames come by
// another path, if that is accepted, and the path says why.
func subscribeOnGPU(ctx context.Context, library string, log *slog.Logger, stream string, opts ...client.Option) (subscription, error) {
	dev, err := gpu.OpenContext(ctx, gpu.WithLibrary(library), gpu.WithLogger(log))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		s, err := client.Subscribe(ctx, stream, append(opts, client.WithDevice(gpu.Unavailable(err)))...)
		if err != nil {
			return nil, err
		}
		return &clientSubscription{Subscription: s}, nil
	}
	s, err := dev.Subscribe(ctx, stream, opts...)
	if err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	return &gpuSubscription{Subscription: s}, nil
}

// gpuSubscription hands out frames in boxes, as clientSubscription does.
type gpuSubscription struct {
	*gpu.Subscription
	free []*gpuFrame
}

// Next waits for the next frame.
func (s *gpuSubscription) Next(ctx context.Context) (heldFrame, error) {
	f, err := s.Subscription.Next(ctx)
	if err != nil {
		return nil, err
	}
	var box *gpuFrame
	if n := len(s.free); n > 0 {
		box, s.free = s.free[n-1], s.free[:n-1]
	} else {
		box = &gpuFrame{owner: s}
	}
	box.Frame, box.failed = f, nil
	return box, nil
}

// Close ends the subscription and the use of the GPU.
func (s *gpuSubscription) Close() error {
	return errors.Join(s.Subscription.Close(), s.Device().Close())
}

// gpuFrame is a frame that may be in memory of a GPU.
type gpuFrame struct {
	gpu.Frame
	owner  *gpuSubscription
	host   []byte // what was read back
	failed error  // of reading back
}

// Data is the frame as it is now: in memory of a GPU it is read back, anew with
// each call.
func (f *gpuFrame) Data() []byte {
	if ptr, _ := f.Device(); ptr == 0 {
		return f.Frame.Data()
	}
	if n := f.Meta().Bytes; cap(f.host) < n {
		f.host = make([]byte, n)
	}
	n, err := f.CopyToHost(f.host[:cap(f.host)])
	if err != nil {
		f.failed = err
		return nil
	}
	return f.host[:n:n]
}

// unread implements unreadable.
func (f *gpuFrame) unread() error { return f.failed }

// unreadable is a frame that can fail to be read, which says nothing about what
// is in it: Data is nil then.
type unreadable interface {
	unread() error
}

// unread is why the frame could not be read, nil if it could or nobody tried.
func unread(f heldFrame) error {
	if u, ok := f.(unreadable); ok {
		return u.unread()
	}
	return nil
}

// errUnread reports frames that could not be read.
var errUnread = errors.New("frames could not be read")

// Release gives the frame back, and the box to its subscription.
func (f *gpuFrame) Release() {
	_ = f.Frame.Release() // logged
	f.owner.free = append(f.owner.free, f)
}
