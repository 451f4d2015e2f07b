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
	dev, err := gpu.Open(gpu.WithLibrary(library), gpu.WithLogger(log))
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

// Valid is why the frame must not be believed, or could not be read back.
func (f *gpuFrame) Valid() error {
	if err := f.Frame.Valid(); err != nil {
		return err
	}
	return f.failed
}

// Release gives the frame back, and the box to its subscription.
func (f *gpuFrame) Release() {
	_ = f.Frame.Release() // logged
	f.owner.free = append(f.owner.free, f)
}
