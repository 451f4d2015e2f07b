// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// The floors: what a hand-over between two processes costs at least, with the
// same payload, pacing and consuming work, and nothing of the product.
const (
	// FloorSHM is shared memory and a futex, without leases, slots or safety.
	FloorSHM negotiate.Backend = "floor_shm"
	// FloorTCP is one write to a socket on the loopback device and one buffer
	// that is read into.
	FloorTCP negotiate.Backend = "floor_tcp"
)

// FloorOf is the floor below a backend; false if it has none.
func FloorOf(b negotiate.Backend) (negotiate.Backend, bool) {
	switch b {
	case negotiate.BackendSHM:
		return FloorSHM, true
	case negotiate.BackendCPU:
		return FloorTCP, true
	}
	return "", false
}

// isFloor reports whether a backend is one of them.
func isFloor(b negotiate.Backend) bool { return b == FloorSHM || b == FloorTCP }

// floorFrame is the frame that a floor hands out, always the same one.
type floorFrame struct {
	data     []byte
	meta     frame.Meta
	geometry frame.Geometry
	held     int64
}

func (f *floorFrame) Data() []byte             { return f.data }
func (f *floorFrame) Meta() frame.Meta         { return f.meta }
func (f *floorFrame) Geometry() frame.Geometry { return f.geometry }
func (f *floorFrame) HeldNanos() int64         { return f.held }
func (f *floorFrame) Release()                 {}

// floorReader is a Subscription to a floor.
type floorReader struct {
	backend negotiate.Backend
	frame   floorFrame
	// next fills the frame; held is the first thing that it does when it has it.
	next  func(ctx context.Context, f *floorFrame) error
	close func() error
}

func (r *floorReader) Next(ctx context.Context) (Frame, error) {
	if err := r.next(ctx, &r.frame); err != nil {
		return nil, err
	}
	return &r.frame, nil
}

func (r *floorReader) Info() negotiate.StreamInfo {
	return negotiate.StreamInfo{Name: string(r.backend), Geometry: r.frame.geometry}
}
func (r *floorReader) Path() client.Path { return client.Path{Backend: r.backend} }
func (r *floorReader) Close() error      { return r.close() }

// floorWorld is a world whose only stream is the floor.
func floorWorld(open func(ctx context.Context) (Subscription, error)) World {
	w := RealWorld()
	w.Subscribe = func(ctx context.Context, _ string, _ func(client.Event), _ ...client.Option) (Subscription, error) {
		return open(ctx)
	}
	w.Publisher = func(context.Context, string, client.Path) Publisher { return Publisher{} }
	w.Now = linux.Monotonic
	return w
}
