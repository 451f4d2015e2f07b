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

// Frame is what a phase uses of a client.Frame.
type Frame interface {
	Data() []byte
	Meta() frame.Meta
	Geometry() frame.Geometry
	HeldNanos() int64
	Release()
}

// Subscription is what a phase uses of a client.Subscription.
type Subscription interface {
	Next(ctx context.Context) (Frame, error)
	Info() negotiate.StreamInfo
	Path() client.Path
	Close() error
}

// World is what a phase needs from outside the process.
type World struct {
	// Subscribe has events called at each change of the subscription.
	Subscribe func(ctx context.Context, stream string, events func(client.Event), opts ...client.Option) (Subscription, error)
	// SubscribeOnGPU is Subscribe for frames that are complete in memory of the
	// GPU when Next returns them; nil: no phase uses one.
	SubscribeOnGPU func(ctx context.Context, stream string, events func(client.Event), opts ...client.Option) (Subscription, error)
	Publisher      func(ctx context.Context, stream string, p client.Path) Publisher
	Now            func() int64                             // CLOCK_MONOTONIC
	Clocks         func() (monotonicNanos, wallNanos int64) // of one instant
	Usage          func(publisher int) Usage
}

// RealWorld is this process and this host.
func RealWorld() World {
	return World{
		Subscribe: func(ctx context.Context, stream string, events func(client.Event), opts ...client.Option) (Subscription, error) {
			s, err := client.Subscribe(ctx, stream, append(opts, client.WithEvents(events))...)
			if err != nil {
				return nil, err
			}
			return &subscription{Subscription: s}, nil
		},
		Publisher: publisherOf,
		Now:       linux.Monotonic,
		Clocks:    linux.Now,
		Usage:     readUsage,
	}
}

// subscription hands out frames in one box, which is used again: a client.Frame
// in an interface would be an allocation per frame. A phase holds one at a time.
type subscription struct {
	*client.Subscription
	box client.Frame
}

// Next implements Subscription.
func (s *subscription) Next(ctx context.Context) (Frame, error) {
	f, err := s.Subscription.Next(ctx)
	if err != nil {
		return nil, err
	}
	s.box = f
	return &s.box, nil
}

// Publisher is who publishes a stream.
type Publisher struct {
	PID         int    // 0 = it cannot be looked at from here
	Version     string // of the daemon, "" = not known
	Subscribers int    // of the stream, this one included; 0 = not known
}

// publisherOf asks the daemons of the path's directory for the one of its
// session. A process that is not called camd is not taken for it: a number of
// another PID namespace means nothing here.
func publisherOf(ctx context.Context, stream string, p client.Path) Publisher {
	var out Publisher
	if p.Dir == "" {
		return out
	}
	daemons, err := client.List(ctx, client.WithRuntimeDir(p.Dir))
	if err != nil {
		return out
	}
	for _, d := range daemons {
		// By cpu the session is the ROS publisher's.
		if d.Session != p.Session && p.Backend != negotiate.BackendCPU {
			continue
		}
		out.Version = d.Version
		if linux.Command(d.PID) == "camd" {
			out.PID = d.PID
		}
		for _, s := range d.Streams {
			if s.Name == stream {
				out.Subscribers = s.Subscribed
			}
		}
	}
	return out
}
