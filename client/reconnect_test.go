// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// A daemon that ends each connection at once is not hurried after.
func TestEveryReconnectPauses(t *testing.T) {
	const connections = 20
	var pauses atomic.Int64
	enough := make(chan struct{})
	f := newFake(t, func(c *call) error {
		if err := c.join(); err != nil {
			return err
		}
		if c.number == connections {
			close(enough)
			return c.serve()
		}
		defer c.reader.Remove()
		return c.send(&negotiate.Message{Type: negotiate.TypeBye, Bye: &negotiate.Bye{Reason: "shutdown"}})
	})
	var early atomic.Int64
	f.subscribed(func(o *options) {
		o.pause = func(ctx context.Context, until time.Time) error {
			if pauses.Add(1) != f.calls.Load() { // one before each but the first
				early.Add(1)
			}
			return ctx.Err()
		}
	})
	<-enough
	if n := early.Load(); n != 0 || pauses.Load() != connections-1 {
		t.Errorf("%d pauses before %d connections, %d out of step", pauses.Load(), connections, n)
	}
}

func TestPauseUntil(t *testing.T) {
	if err := pauseUntil(context.Background(), time.Now().Add(-time.Hour)); err != nil {
		t.Errorf("a time that is past: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := pauseUntil(ctx, time.Now().Add(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is done: %v", err)
	}
	if err := pauseUntil(ctx, time.Time{}); !errors.Is(err, context.Canceled) {
		t.Errorf("both: %v", err)
	}
}

// Close that comes between a connection and its being the current one.
func TestConnectionThatComesTooLate(t *testing.T) {
	f := newFake(t, func(c *call) error { // says nothing and stays
		_, err := c.receive()
		return err
	})
	conn, err := negotiate.Dial(bounded(t), f.dir)
	if err != nil {
		t.Fatal(err)
	}
	s := &Subscription{
		stream: "test/color", opts: newOptions([]Option{quiet()}),
		done: make(chan struct{}), released: make(chan struct{}, 1), changed: make(chan struct{}, 1),
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.keep(ctx, &connection{conn: conn}, nil)
	<-s.done
}

func TestRestartedDaemon(t *testing.T) {
	eachWake(t, func(t *testing.T, wake Option) {
		f := newFake(t, well)
		s := f.subscribed(wake, eager)
		seq := f.publish()
		held := want(t, s, seq)
		f.mu.Lock()
		f.session, f.sequence = frame.Session{9}, 0
		f.mu.Unlock()
		f.newRing(nil)
		f.hangUp()
		fresh := f.publish()
		a := want(t, s, fresh)
		if a.Meta().Flags&frame.Discontinuity == 0 || a.Session() != (frame.Session{9}) {
			t.Errorf("flags %v, session %v", a.Meta().Flags, a.Session())
		}
		b := want2(t, s, f, a)
		if b.Meta().Flags&frame.Discontinuity != 0 {
			t.Error("the second frame is marked as a discontinuity, too")
		}
		b.Release()
		whole(t, held, seq)
		held.Release()
		if st := s.Stats(); st.Missed != 0 {
			t.Errorf("%d frames missed between two sessions", st.Missed)
		}
	})
}

// want2 releases a frame and takes the one after it.
func want2(t *testing.T, s *Subscription, f *fake, a Frame) Frame {
	t.Helper()
	a.Release()
	return want(t, s, f.publish())
}

func TestEvicted(t *testing.T) {
	evict := make(chan struct{})
	f := newFake(t, func(c *call) error {
		if err := c.join(); err != nil {
			return err
		}
		if c.number == 1 {
			<-evict
			m := refuseWith(negotiate.ReasonPolicy).Reject // the word does not matter
			if err := c.send(&negotiate.Message{Type: negotiate.TypeEvict, Evict: m}); err != nil {
				return err
			}
		}
		return c.serve()
	})
	events := make(chan EventKind, 100)
	s := f.subscribed(eager, WithEvents(func(e Event) { events <- e.Kind }))
	seq := f.publish()
	a := want(t, s, seq)
	close(evict)
	for e := <-events; e != EventEvicted; e = <-events {
	}
	if _, err := s.Next(bounded(t)); !errors.Is(err, ErrEvicted) {
		t.Errorf("Next while evicted frames are held: %v", err)
	}
	whole(t, a, seq)
	if n := f.calls.Load(); n != 1 {
		t.Errorf("%d connections while evicted frames are held, want 1", n)
	}
	a.Release()
	for e := <-events; e != EventConnected; e = <-events {
	}
	fr := want(t, s, f.publish())
	if fr.Meta().Flags&frame.Discontinuity == 0 {
		t.Error("the first frame after an eviction is not marked as a discontinuity")
	}
	fr.Release()
}

func TestReconfigured(t *testing.T) {
	next := make(chan func(r *negotiate.Reconfig, files []int))
	acks := make(chan uint64, 10)
	var scripts atomic.Int64 // that run, and could take what is meant for another
	script := func(c *call) error {
		scripts.Add(1)
		defer scripts.Add(-1)
		if err := c.join(); err != nil {
			return err
		}
		done := make(chan struct{})
		var editing sync.WaitGroup
		defer editing.Wait()
		defer close(done)
		editing.Go(func() {
			for {
				select {
				case edit := <-next:
					_ = c.reconfig(edit)
				case <-done:
					return
				}
			}
		})
		for {
			m, err := c.receive()
			if err != nil {
				return err
			}
			if m.Type == negotiate.TypeAck {
				acks <- m.Ack.Epoch
				c.reader.Start()
			}
		}
	}
	f := newFake(t, script)
	s := f.subscribed(eager)
	seq := f.publish()
	held := want(t, s, seq)
	r := f.newRing(nil)
	next <- nil
	if e := <-acks; e != r.Epoch() {
		t.Errorf("acknowledged epoch %d, want %d", e, r.Epoch())
	}
	fr := want(t, s, f.publish())
	if fr.Geometry() != r.Geometry() || fr.Epoch() != r.Epoch() || fr.Meta().Flags&frame.Discontinuity == 0 {
		t.Errorf("first frame: %v, epoch %d, flags %v", fr.Geometry(), fr.Epoch(), fr.Meta().Flags)
	}
	fr.Release()
	whole(t, held, seq)
	held.Release()

	type edit = func(r *negotiate.Reconfig, files []int)
	garbage := map[string]func(t *testing.T, l ring.Layout) edit{
		"no layout": func(*testing.T, ring.Layout) edit {
			return func(r *negotiate.Reconfig, _ []int) { r.Layout = negotiate.Layout{} }
		},
		"another epoch": func(*testing.T, ring.Layout) edit {
			return func(r *negotiate.Reconfig, _ []int) { r.Layout.Epoch += 5 }
		},
		"page not sealed": func(t *testing.T, l ring.Layout) edit {
			fd := unsealed(t, l.PageBytes)
			return func(_ *negotiate.Reconfig, f []int) { f[2] = fd }
		},
		"page short": func(t *testing.T, _ ring.Layout) edit {
			fd := memory(t, 64)
			return func(_ *negotiate.Reconfig, f []int) { f[2] = fd }
		},
		"pixels unsealed": func(t *testing.T, l ring.Layout) edit {
			fd := unsealed(t, l.PixelBytes)
			return func(_ *negotiate.Reconfig, f []int) { f[1] = fd }
		},
	}
	for name, make := range garbage {
		t.Run(name, func(t *testing.T) {
			for scripts.Load() != 1 { // that of the connection before
				runtime.Gosched()
			}
			before := s.Stats().Reconnects
			next <- make(t, f.newRing(nil).Layout())
			// The client hangs up, comes back and gets the newest ring.
			fr := want(t, s, f.publish())
			if fr.Meta().Flags&frame.Discontinuity == 0 {
				t.Error("not marked as a discontinuity")
			}
			fr.Release()
			if n := s.Stats().Reconnects - before; n != 1 {
				t.Errorf("%d new connections, want 1", n)
			}
		})
	}
}

// The camera comes first to life after the program subscribed.
func TestStreamThatIsNotReady(t *testing.T) {
	f := newFake(t, func(c *call) error {
		if c.number < 3 {
			if _, err := c.receive(); err != nil {
				return err
			}
			return c.send(refuseWith(negotiate.ReasonNotReady))
		}
		return well(c)
	})
	var waiting atomic.Int64
	s := f.subscribed(eager, WithEvents(func(e Event) {
		if e.Kind == EventWaiting {
			waiting.Add(1)
		}
	}))
	fr := want(t, s, f.publish())
	if fr.Meta().Flags&frame.Discontinuity != 0 || s.Stats().Reconnects != 0 {
		t.Error("the first connection counts as another one")
	}
	fr.Release()
	if n := waiting.Load(); n != 1 {
		t.Errorf("one reason was told %d times", n)
	}
}

// What is required and cannot be had any more ends the subscription; what may
// pass by itself does not.
func TestRequiredPathIsLost(t *testing.T) {
	reasons := []negotiate.Reason{"", negotiate.ReasonRingFull, negotiate.ReasonQuarantined, negotiate.ReasonNotOffered}
	f := newFake(t, func(c *call) error {
		if c.number == 1 {
			return well(c)
		}
		if _, err := c.receive(); err != nil {
			return err
		}
		return c.send(refuseWith(reasons[c.number-1]))
	})
	s := f.subscribed(eager, WithRequire(negotiate.BackendSHM))
	want(t, s, f.publish()).Release()
	f.hangUp()
	if _, err := s.Next(bounded(t)); !errors.Is(err, ErrNotAvailable) {
		t.Errorf("Next: %v, want %v", err, ErrNotAvailable)
	}
	if n := f.calls.Load(); n != 4 {
		t.Errorf("%d connections, want 4", n)
	}
}

// The end of every camera is told apart from other goodbyes.
func TestGoodbyes(t *testing.T) {
	for reason, want := range map[string]EventKind{
		negotiate.ByeEnded: EventEnded, negotiate.ByeShutdown: EventDisconnected, negotiate.ByeRemoved: EventDisconnected, "": EventDisconnected,
	} {
		t.Run("reason "+reason, func(t *testing.T) {
			f := newFake(t, func(c *call) error {
				if c.number > 1 {
					_, err := c.receive()
					return err
				}
				if err := c.join(); err != nil {
					return err
				}
				defer c.reader.Remove()
				return c.send(&negotiate.Message{Type: negotiate.TypeBye, Bye: &negotiate.Bye{Reason: reason}})
			})
			over := make(chan EventKind, 1)
			f.subscribed(WithEvents(func(e Event) {
				if e.Kind != EventConnected {
					select {
					case over <- e.Kind:
					default:
					}
				}
			}))
			if got := <-over; got != want {
				t.Errorf("event %s, want %s", got, want)
			}
		})
	}
}
