// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"time"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// fake is a stream of a synctest bubble, whose clock begins at some nanoseconds
// after 1 s. A frame comes every 10 ms; it is ready 40 to 49 µs, published 30 µs
// and captured 5 ms before it is usable.
type fake struct {
	path    client.Path
	info    negotiate.StreamInfo
	refused error
	frames  int                         // then silence; 0 = without end
	before  func(n int, f *fakeFrame)   // may change frame n, 0 first
	step    func(monotonic int64) int64 // of the wall clock
	events  func(client.Event)          // of the phase
	usage   func(monotonic int64) Usage // of the processes
	data    []byte                      // of every frame
	began   time.Time
	taken   int
	closed  bool
	holding int
	one     fakeFrame
}

type fakeFrame struct {
	from     *fake
	meta     frame.Meta
	geometry frame.Geometry
	held     int64
}

func (f *fakeFrame) Data() []byte             { return f.from.data }
func (f *fakeFrame) Meta() frame.Meta         { return f.meta }
func (f *fakeFrame) Geometry() frame.Geometry { return f.geometry }
func (f *fakeFrame) HeldNanos() int64         { return f.held }
func (f *fakeFrame) Release()                 { f.from.holding-- }

func newFake() *fake {
	g, err := frame.NewGeometry(frame.BGRA8, 4, 2)
	if err != nil {
		panic(err)
	}
	return &fake{
		info: negotiate.StreamInfo{Name: "test/color", Camera: "test", Geometry: g, IntervalNS: 10_000_000, Clock: "monotonic"},
		path: client.Path{Backend: negotiate.BackendSHM, Wake: negotiate.WakeFutex, Credit: 2},
		data: make([]byte, g.Size()),
	}
}

// monotonic is the clock of the bubble.
func monotonic() int64 { return time.Now().UnixNano() - 946684800_000_000_000 + 1_000_000_000 }

func (s *fake) Next(ctx context.Context) (Frame, error) {
	if s.frames > 0 && s.taken >= s.frames {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	due := s.began.Add(time.Duration(s.taken+1) * 10 * time.Millisecond)
	select {
	case <-time.After(time.Until(due)):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f := &s.one
	*f = fakeFrame{from: s, geometry: s.info.Geometry, held: monotonic()}
	f.meta = frame.Meta{
		Sequence: uint64(s.taken + 1), DriverSequence: uint64(s.taken + 1), Bytes: len(s.data),
		CaptureNanos: f.held - 5_000_000, ReadyNanos: f.held - 40_000 - int64(s.taken%10)*1000, PublishNanos: f.held - 30_000,
	}
	if s.before != nil {
		s.before(s.taken, f)
	}
	s.taken++
	s.holding++
	return f, nil
}

func (s *fake) Info() negotiate.StreamInfo { return s.info }
func (s *fake) Path() client.Path          { return s.path }
func (s *fake) Close() error               { s.closed = true; return nil }

func (s *fake) world() World {
	return World{
		Subscribe: func(_ context.Context, _ string, events func(client.Event), _ ...client.Option) (Subscription, error) {
			if s.refused != nil {
				return nil, s.refused
			}
			s.events = events
			s.began = time.Now()
			return s, nil
		},
		Publisher: func(context.Context, string, client.Path) Publisher {
			return Publisher{PID: 4711, Version: "1.2.3", Subscribers: 3}
		},
		Now: monotonic,
		Clocks: func() (int64, int64) {
			m := monotonic()
			wall := m + 1_700_000_000_000_000_000
			if s.step != nil {
				wall += s.step(m)
			}
			return m, wall
		},
		Usage: func(int) Usage {
			m := monotonic()
			if s.usage != nil {
				return s.usage(m)
			}
			// A tenth of a core, a quarter of one, half of the host.
			return Usage{AtNanos: m, SubscriberNanos: m / 10, PublisherNanos: m / 4, SystemBusy: uint64(m / 2), SystemTotal: uint64(m)}
		},
	}
}
