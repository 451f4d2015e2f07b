// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// heldFrame is what commands use of a client.Frame.
type heldFrame interface {
	Data() []byte
	Meta() frame.Meta
	Geometry() frame.Geometry
	HeldNanos() int64
	MessageBytes() int
	Valid() error
	Release()
}

// subscription is what commands use of a client.Subscription. Next is called
// by one goroutine; the others may be called beside it.
type subscription interface {
	Next(ctx context.Context) (heldFrame, error)
	Info() negotiate.StreamInfo
	Path() client.Path
	Stats() client.Stats
	Close() error
}

// world is what commands need from outside the process.
type world struct {
	subscribe func(ctx context.Context, stream string, opts ...client.Option) (subscription, error)
	// onGPU is subscribe for who accepts frames in memory of a GPU; library is the
	// driver's, "" the usual one. nil: there is only subscribe.
	onGPU     func(ctx context.Context, library string, log *slog.Logger, stream string, opts ...client.Option) (subscription, error)
	list      func(ctx context.Context, opts ...client.Option) ([]client.Daemon, error)
	topics    func(ctx context.Context, opts ...client.Option) ([]client.Topic, error)
	announced func(ctx context.Context, opts ...client.Option) ([]negotiate.Announcement, error)
	look      func(ctx context.Context, name string, opts ...client.Option) ([]negotiate.Announcement, error)
	status    func(ctx context.Context, opts ...client.Option) ([]json.RawMessage, error)
	now       func() int64 // CLOCK_MONOTONIC in nanoseconds
	realtime  func() int64 // CLOCK_REALTIME in nanoseconds
}

func realWorld() world {
	return world{
		subscribe: func(ctx context.Context, stream string, opts ...client.Option) (subscription, error) {
			s, err := client.Subscribe(ctx, stream, opts...)
			if err != nil {
				return nil, err
			}
			return &clientSubscription{Subscription: s}, nil
		},
		onGPU:     subscribeOnGPU,
		list:      client.List,
		topics:    client.Topics,
		announced: client.Announced,
		look:      client.Find,
		status:    client.Status,
		now:       linux.Monotonic,
		realtime:  linux.Realtime,
	}
}

// clientSubscription hands out frames in boxes that are used again, because a
// client.Frame in an interface would be an allocation per frame.
type clientSubscription struct {
	*client.Subscription
	free []*clientFrame
}

// Next waits for the next frame.
func (s *clientSubscription) Next(ctx context.Context) (heldFrame, error) {
	f, err := s.Subscription.Next(ctx)
	if err != nil {
		return nil, err
	}
	var box *clientFrame
	if n := len(s.free); n > 0 {
		box, s.free = s.free[n-1], s.free[:n-1]
	} else {
		box = &clientFrame{owner: s}
	}
	box.Frame = f
	return box, nil
}

type clientFrame struct {
	client.Frame
	owner *clientSubscription
}

// Release gives the frame back to the daemon and the box to its subscription.
func (f *clientFrame) Release() {
	f.Frame.Release()
	f.owner.free = append(f.owner.free, f)
}
