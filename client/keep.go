// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// retryEvery is the least time from one attempt to connect to the next.
const retryEvery = 250 * time.Millisecond

// errEnded: the daemon is over because there is nothing more to come.
var errEnded = errors.New("every camera has come to its end")

// route is a way by which frames come, agreed on and ready.
type route interface {
	// begin makes it the way of the subscription.
	begin(s *Subscription)
	// run handles what happens until the way ends, and says why.
	run(ctx context.Context, s *Subscription) error
	// end gives back what it has. Frames at hand keep their memory.
	end(s *Subscription)
	// lost says for people what err, from run, means.
	lost(err error) string
}

func (cn *connection) lost(err error) string {
	if errors.Is(err, errGPULost) {
		return err.Error()
	}
	return fmt.Sprintf("connection to camd in %s lost: %v", cn.dir, err)
}

func (cn *connection) begin(s *Subscription) {
	s.mu.Lock()
	s.cur, s.pipe = cn.first, cn.pipe
	s.path, s.info = cn.path, cn.first.info
	s.mu.Unlock()
	signal(s.changed)
	text := fmt.Sprintf("%s by %s (%s), %v", s.stream, cn.path.Backend, cn.path.Over(s.stream), cn.first.info.Geometry)
	s.opts.log.Debug("subscribed", "stream", s.stream, "backend", cn.path.Backend, "dir", cn.dir, "rejected", negotiate.Summary(cn.path.Rejected))
	s.event(EventConnected, nil, "%s%s", text, notBetter(cn.path))
}

// notBetter says why no better path was taken, where it is not the program's
// own wish, which is no news to it.
func notBetter(p Path) string {
	var better []negotiate.Rejected
	for _, r := range negotiate.Better(p.Rejected, p.Backend) {
		if r.Reason != negotiate.ReasonNotAccepted {
			better = append(better, r)
		}
	}
	if len(better) == 0 {
		return ""
	}
	return "; not " + negotiate.Summary(better) + negotiate.ClientDetails(better)
}

// keep is the connection's goroutine: it receives, and connects again for as
// long as the subscription lives.
func (s *Subscription) keep(ctx context.Context, way route, why error) {
	defer close(s.done)
	defer s.leave()
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		e := s.cur
		stays := e != nil && e.device != nil && e.tie.held > 0
		if stays {
			e.tie.leave(ErrClosed)
		}
		s.mu.Unlock()
		if stays {
			e.conn.Interrupt()
		} else if e != nil { // else receive sees that ctx is done
			_ = e.conn.Send(&negotiate.Message{Type: negotiate.TypeBye, Bye: &negotiate.Bye{Reason: negotiate.ByeDone}})
			_ = e.conn.Close()
		}
	})
	defer stop()
	connected := way != nil
	again := false
	said := ""  // the last reason for waiting that was told
	cause := "" // why the way is another one
	if why != nil {
		said = why.Error()
	}
	for {
		var better *connection
		if way != nil {
			var err error
			better, err = s.drive(ctx, way)
			way.end(s)
			if ctx.Err() != nil {
				if better != nil {
					better.abandon(&s.opts)
				}
				return
			}
			s.over(way)
			if again = better != nil || errors.Is(err, errAgain); !again {
				cause = s.sayLost(way, err)
			}
		}
		var err error
		if better != nil {
			way, cause = better, "camd in "+better.dir+" can be reached now"
		} else if way, err = s.reconnect(ctx, said); err != nil {
			if ctx.Err() == nil {
				s.fail(err)
			}
			return
		}
		s.mu.Lock()
		if connected && !again {
			s.stats.Reconnects++
		}
		s.broken = s.broken || connected
		s.mu.Unlock()
		connected, said = true, ""
		s.enter(way, cause)
	}
}

// enter makes way that of the subscription; cause is why it is another one than
// before.
func (s *Subscription) enter(way route, cause string) {
	s.begun = time.Now()
	switch w := way.(type) {
	case *connection:
		s.pinned = here().boot
	case *topicRoute:
		if at := w.target.at; at.boot != "" {
			s.pinned = at.boot
			if at.host != "" && !at.same(here()) {
				s.pinned = at.host // which outlives a boot
			}
		}
	}
	s.mu.Lock()
	before := s.path.Backend
	s.crossed = true
	s.mu.Unlock()
	way.begin(s)
	if _, ok := way.(*connection); ok {
		s.leave() // the network is of no use any more
	}
	s.mu.Lock()
	now := s.path
	changed := before != "" && before != now.Backend
	if changed {
		s.stats.PathChanges++
	}
	s.mu.Unlock()
	if changed {
		s.opts.log.Info("path changed", "stream", s.stream, "backend", now.Backend, "before", before, "reason", cause, "rejected", negotiate.Summary(now.Rejected))
		s.event(EventPathChanged, nil, "%s comes by %s, not by %s any more: %s", s.stream, now.Backend, before, cause)
	}
}

// over books that a way has ended.
func (s *Subscription) over(way route) {
	if _, ok := way.(*connection); !ok {
		return
	}
	now := time.Now()
	// A daemon that restarts is back soon, and what it announced goes last.
	s.lookAt = now.Add(s.opts.lookEvery)
	if now.Sub(s.begun) >= s.opts.settled {
		s.wary = 0
		return
	}
	s.wary = min(max(2*s.wary, leastWary), mostWary)
	s.waryUntil = now.Add(s.wary)
}

// abandon gives back a connection that nobody used.
func (cn *connection) abandon(o *options) {
	_ = cn.conn.Close()
	cn.drop(o)
}

// sayLost tells that a way ended, and returns why.
func (s *Subscription) sayLost(way route, err error) string {
	text := way.lost(err)
	s.opts.log.Warn("path lost", "stream", s.stream, "reason", text)
	kind := EventDisconnected
	if errors.Is(err, errEnded) {
		kind = EventEnded
	}
	s.event(kind, err, "%s", text)
	return text
}

// reconnect tries until there is a connection. Only what cannot pass by itself
// is an error: a required path that this daemon does not have.
func (s *Subscription) reconnect(ctx context.Context, last string) (route, error) {
	for {
		// A daemon that ends each connection at once is no reason to hurry.
		if err := s.opts.pause(ctx, s.tried.Add(retryEvery)); err != nil {
			return nil, err
		}
		s.tried = time.Now()
		// Frames of an evicted subscription are given back before the daemon
		// can be asked again.
		if !s.evictedHeld() {
			way, err := s.connect(ctx)
			if err == nil {
				return way, nil
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if s.opts.require != "" && errors.Is(err, ErrNotAvailable) && !passes(err) {
				return nil, err
			}
			if text := err.Error(); text != last && !errors.Is(err, errLater) {
				last = text
				s.event(EventWaiting, err, "waiting for %s: %v", s.stream, err)
			}
		}
	}
}

// pauseUntil waits, unless the time is past.
func pauseUntil(ctx context.Context, until time.Time) error {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return ctx.Err()
	}
}

// passes reports whether a refusal can end by itself.
func passes(err error) bool {
	var r *RefusedError
	if !errors.As(err, &r) {
		return true
	}
	for _, x := range append(r.Refusal.Rejected, negotiate.Rejected{Reason: r.Refusal.Reason}) {
		switch x.Reason {
		case negotiate.ReasonRingFull, negotiate.ReasonNotReady, negotiate.ReasonQuarantined,
			negotiate.ReasonLimit, negotiate.ReasonProbeTimeout, negotiate.ReasonShutdown, negotiate.ReasonRouterUnreachable:
			return true
		}
	}
	return false
}

func (s *Subscription) evictedHeld() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.evicted != nil
}

func (s *Subscription) fail(err error) {
	s.mu.Lock()
	s.failure = err
	s.mu.Unlock()
	signal(s.changed)
}

// run handles the daemon's messages until the connection ends.
func (cn *connection) run(ctx context.Context, s *Subscription) error {
	defer s.watchDevice(cn)()
	for {
		// Asked for before each message: ctx may have ended before the
		// connection was there to be closed.
		if ctx.Err() != nil {
			return ctx.Err()
		}
		m, files, err := cn.conn.Receive(time.Time{})
		if errors.Is(err, negotiate.ErrInterrupted) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return cn.tie.why
		}
		if err != nil {
			return err
		}
		switch m.Type {
		case negotiate.TypeReconfig:
			err = s.reconfigure(cn, m.Reconfig, files)
		case negotiate.TypeEvict:
			s.markEvicted(cn, m.Evict)
		case negotiate.TypeBye:
			err = fmt.Errorf("camd says goodbye: %s", m.Bye.Reason)
			if m.Bye.Reason == negotiate.ByeEnded {
				err = errEnded
			}
		default:
			if m.Type.Known() {
				err = fmt.Errorf("%w: %s in a running subscription", ErrProtocol, m.Type)
			}
		}
		_ = files.Close()
		if err != nil {
			return err
		}
	}
}

// reconfigure goes over to a new epoch. Frames held from the old one stay.
func (s *Subscription) reconfigure(cn *connection, r *negotiate.Reconfig, files negotiate.Files) error {
	if len(files) < 4 {
		return fmt.Errorf("%w: new epoch with %d descriptors, want 4", ErrProtocol, len(files))
	}
	e, err := cn.openNext(&s.opts, r, files)
	if err != nil {
		return err
	}
	e.conn, e.tie = cn.conn, &cn.tie
	s.mu.Lock()
	old := s.cur
	s.cur, s.info, s.broken = e, r.Stream, true
	if old != nil {
		old.over = true
		old.view.WakeAll()
		s.reap(old)
	}
	if s.pipe != nil {
		_ = s.pipe.SetReadDeadline(time.Unix(1, 0))
	}
	s.unlock()
	signal(s.changed)
	s.event(EventReconfigured, nil, "%s is now %v", s.stream, r.Stream.Geometry)
	return cn.conn.Send(&negotiate.Message{Type: negotiate.TypeAck, Ack: &negotiate.Ack{Epoch: r.Layout.Epoch}})
}

// openNext maps the ring of a new epoch, which is of the same kind.
func (cn *connection) openNext(o *options, r *negotiate.Reconfig, files negotiate.Files) (*epoch, error) {
	if (r.Device != nil) != (cn.path.Backend == negotiate.BackendCUDA) {
		return nil, fmt.Errorf("%w: new epoch by another backend than %s", ErrProtocol, cn.path.Backend)
	}
	e, err := openEpoch(o, r.Stream, r.Layout, r.Device, cn.path.Session, files)
	if err != nil {
		return nil, err
	}
	if _, err = e.probe(r.Device); err == nil {
		err = e.view.Attach(files[2], files[3])
	}
	if err != nil {
		e.close(o)
		return nil, err
	}
	return e, nil
}

func (s *Subscription) markEvicted(cn *connection, r *negotiate.Refusal) {
	err := refused(s.stream, cn.dir, r)
	err.kind = ErrEvicted // whatever the reason is called
	s.opts.log.Warn("evicted by camd", "stream", s.stream, "reason", r.Reason, "err", r.Text)
	s.event(EventEvicted, err, "%v", err)
	s.mu.Lock()
	e := s.cur
	if e != nil {
		e.evicted = err
		if e.held > 0 {
			s.evicted = err
		} else if e.tie.held == 0 {
			_ = e.conn.Close()
		}
		e.view.WakeAll()
	}
	s.mu.Unlock()
	signal(s.changed)
}

// end ends the use of a connection; frames at hand keep their memory.
func (cn *connection) end(s *Subscription) {
	s.mu.Lock()
	if cn.tie.over(); !cn.tie.stays {
		_ = cn.conn.Close()
	}
	if e := s.cur; e != nil {
		s.cur = nil
		e.over = true
		e.view.WakeAll()
		s.reap(e)
	}
	pipe := s.pipe
	s.pipe = nil
	if pipe != nil && cn.tie.stays {
		_ = pipe.SetReadDeadline(time.Unix(1, 0)) // for who waits
		cn.tie.pipe, pipe = pipe, nil             // its end would be the end of the reader
	}
	s.unlock()
	if pipe != nil {
		_ = pipe.Close()
	}
	signal(s.changed)
}
