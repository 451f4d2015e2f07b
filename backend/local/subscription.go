// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// exitPoll is how often a silent peer's process is looked at. The end of the
// socket says the same at once, unless the process left it to a child.
const exitPoll = 100 * time.Millisecond

// exitGrace is how long the parts of a process that is being killed may take to
// go one after the other.
const exitGrace = 500 * time.Millisecond

// warnEvery is the least time between two lines about one subscription's frames.
const warnEvery = time.Minute

// subscription is one client of the stream. Serve's goroutine receives; watch's
// goroutine sends.
type subscription struct {
	v        *Server
	conn     *negotiate.Conn
	hello    *negotiate.Hello
	rejected []negotiate.Rejected
	since    time.Time
	pipe     [2]int        // wake-up pipe, a pair of sockets: the client's end until START, our original of the write end
	changed  chan struct{} // a new epoch is to be announced
	log      *slog.Logger

	mu      sync.Mutex
	epoch   *Epoch       // the newest that the client was told of
	reader  *ring.Reader // the one that it reads from
	pending *ring.Reader // of epoch, announced and not acknowledged
	next    place        // in the newest epoch, to be announced
	refused error        // why there will be none
	before  ring.ReaderStats
	evicted error
	warned  time.Time // last line about frames held for long
}

// place is a reader in an epoch, or why there is none.
type place struct {
	epoch  *Epoch
	reader *ring.Reader
	err    error
}

// serve keeps the subscription until the client or ctx ends it.
func (s *subscription) serve(ctx context.Context) error {
	over, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.watch(over)
		if ctx.Err() != nil {
			s.bye(byeReason(context.Cause(ctx)))
		}
		_ = s.conn.Close() // ends receive
	}()
	err := s.receive()
	cancel()
	<-done
	if errors.Is(err, negotiate.ErrProtocol) {
		s.log.Warn("subscriber cut off", "reason", negotiate.ReasonProtocol, "err", err)
	}
	s.mu.Lock()
	evicted := s.evicted
	s.mu.Unlock()
	s.log.Info("subscription over", "reason", endReason(err, evicted))
	return nil
}

func byeReason(cause error) string {
	switch {
	case errors.Is(cause, backend.ErrRemoved):
		return negotiate.ByeRemoved
	case errors.Is(cause, backend.ErrEnded):
		return negotiate.ByeEnded
	}
	return negotiate.ByeShutdown
}

// receive handles the client's messages until the connection ends.
func (s *subscription) receive() error {
	for {
		m, files, err := s.conn.Receive(time.Time{})
		_ = files.Close()
		if err != nil {
			return err
		}
		switch m.Type {
		case negotiate.TypeKick:
			s.mu.Lock()
			rd := s.reader
			s.mu.Unlock()
			rd.Kick()
		case negotiate.TypeAck:
			s.acknowledged(m.Ack.Epoch)
		case negotiate.TypeBye:
			return nil
		default:
			if m.Type.Known() {
				return fmt.Errorf("%w: %s in a running subscription", negotiate.ErrProtocol, m.Type)
			}
		}
	}
}

// watch sends what the daemon has to say until ctx is done or the client has to
// be cut off.
func (s *subscription) watch(ctx context.Context) {
	tick := time.NewTicker(exitPoll)
	defer tick.Stop()
	hoarding := false
	for {
		s.mu.Lock()
		ended := s.reader.Done()
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
			if err := s.announce(); err != nil {
				s.cutOff(err)
				return
			}
		case <-ended:
			s.evict(ctx)
			return
		case <-tick.C:
			if s.conn.PeerExited() {
				return
			}
			if err := s.check(); err != nil {
				s.cutOff(err)
				return
			}
			hoarding = s.warn(hoarding)
		}
	}
}

func (s *subscription) check() error {
	if s.v.Check == nil {
		return nil
	}
	return s.v.Check()
}

// cutOff says why a subscription cannot go on.
func (s *subscription) cutOff(err error) {
	if errors.Is(err, negotiate.ErrPeerGone) || errors.Is(err, net.ErrClosed) {
		return // it is over anyway
	}
	reason := cutReason(err)
	s.log.Warn("subscriber cut off", "reason", reason, "err", err)
	if reason == negotiate.ReasonNotReading {
		return
	}
	text := err.Error()
	var d *backend.DeclinedError
	if errors.As(err, &d) {
		text = d.Detail
	}
	s.bye(fmt.Sprintf("%s: %s", reason, text))
}

// warn names a reader that holds a frame for long when it begins, at most once
// a minute: one that reads slowly is in that state again and again.
func (s *subscription) warn(before bool) bool {
	s.mu.Lock()
	rd := s.reader
	s.mu.Unlock()
	i := rd.Info()
	hoarding := i.Oldest > HoardingAfter
	if hoarding && !before && s.mayWarn(time.Now()) {
		s.log.Warn("subscriber holds a frame for long", "command", linux.Command(s.conn.Peer().PID), "held", i.Held, "age", i.Oldest.Round(time.Millisecond))
	}
	return hoarding
}

func (s *subscription) mayWarn(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.warned) < warnEvery {
		return false
	}
	s.warned = now
	return true
}

func (s *subscription) bye(reason string) {
	_ = s.conn.Send(&negotiate.Message{Type: negotiate.TypeBye, Bye: &negotiate.Bye{Reason: reason}})
}

// end gives back everything.
func (s *subscription) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rd := range []*ring.Reader{s.reader, s.pending, s.next.reader} {
		if rd != nil {
			rd.Remove()
		}
	}
	closeAll(s.pipe[:]...)
	s.pipe = [2]int{-1, -1}
}
