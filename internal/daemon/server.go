// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// acceptPause is how long to wait when no connection can be taken.
const acceptPause = 100 * time.Millisecond

// server answers on the local socket, one goroutine a connection.
type server struct {
	d        *Daemon
	listener *negotiate.Listener

	mu      sync.Mutex
	byUser  map[int]int
	total   int
	refused map[negotiate.Reason]uint64
	logged  map[string]time.Time // last line of a repeating complaint
	conns   sync.WaitGroup
}

func newServer(d *Daemon, l *negotiate.Listener) *server {
	return &server{
		d: d, listener: l, byUser: make(map[int]int),
		refused: make(map[negotiate.Reason]uint64), logged: make(map[string]time.Time),
	}
}

// run accepts until ctx is done and returns when every connection has ended.
func (s *server) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { _ = s.listener.Close() })
	defer stop()
	for {
		conn, err := s.listener.Accept()
		if ctx.Err() != nil {
			if conn != nil {
				_ = conn.Close()
			}
			break
		}
		if err != nil {
			s.complain("accept", "cannot accept a connection", err)
			if errors.Is(err, net.ErrClosed) {
				break
			}
			select {
			case <-ctx.Done():
			case <-time.After(acceptPause):
			}
			continue
		}
		// Counted here, so that no more are ever open, and refused here: the
		// queue of a new connection is empty, so this cannot block.
		if r := s.admit(conn); r != nil {
			s.send(conn, r)
			_ = conn.Close()
			s.conns.Go(func() { s.logRefusal(conn.Peer(), r) })
			continue
		}
		s.conns.Add(1)
		go func() {
			defer s.conns.Done()
			defer s.leave(conn.Peer().UID)
			defer conn.Close()
			s.serve(ctx, conn)
		}()
	}
	s.conns.Wait()
	_ = s.listener.Close() // waits until the directory is free for the next daemon
}

// complain logs a repeating fault at most every ten seconds.
func (s *server) complain(key, text string, err error, args ...any) {
	if s.mayComplain(key) {
		s.d.log.Warn(text, append([]any{"err", err}, args...)...)
	}
}

// mayComplain is true at most every ten seconds for one key.
func (s *server) mayComplain(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, now := s.logged[key], time.Now()
	if now.Sub(last) < 10*time.Second {
		return false
	}
	if len(s.logged) > 1024 { // keys hold process numbers
		clear(s.logged)
	}
	s.logged[key] = now
	return true
}

// admit counts a connection against the limits, or says why not.
func (s *server) admit(conn *negotiate.Conn) *negotiate.Refusal {
	peer := conn.Peer()
	if err := s.d.Policy.Allow(peer); err != nil {
		return &negotiate.Refusal{Reason: negotiate.ReasonPermissionDenied, Text: err.Error()}
	}
	all, perUser := connectionLimits(s.d.all(), s.d.fileLimit())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= all || s.byUser[peer.UID] >= perUser {
		return &negotiate.Refusal{
			Reason: negotiate.ReasonLimit,
			Text:   fmt.Sprintf("%d connections of user %d and %d in all, at most %d and %d are served", s.byUser[peer.UID], peer.UID, s.total, perUser, all),
		}
	}
	s.total++
	s.byUser[peer.UID]++
	return nil
}

func (s *server) leave(uid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	if s.byUser[uid]--; s.byUser[uid] <= 0 {
		delete(s.byUser, uid)
	}
}

// serve answers requests on one connection until it ends or becomes a
// subscription.
func (s *server) serve(ctx context.Context, conn *negotiate.Conn) {
	stop := context.AfterFunc(ctx, func() {
		// Subscriptions say goodbye first; whoever is still here then is cut off.
		time.AfterFunc(time.Second, func() { _ = conn.Close() })
	})
	defer stop()
	talk := newConversation(time.Now())
	for ctx.Err() == nil {
		m, files, err := conn.Receive(talk.due)
		_ = files.Close()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
			return
		case errors.Is(err, os.ErrDeadlineExceeded):
			s.reject(conn, &negotiate.Refusal{Reason: negotiate.ReasonProtocol, Text: fmt.Sprintf("no request within %v", helloTimeout)})
			return
		case err != nil:
			s.reject(conn, &negotiate.Refusal{Reason: negotiate.ReasonProtocol, Text: err.Error()})
			return
		}
		answer, refusal := talk.heard(m.Type, time.Now())
		if refusal != nil {
			s.reject(conn, refusal)
			return
		}
		if !answer {
			continue
		}
		if done := s.answer(ctx, conn, m); done {
			return
		}
		talk.answered(time.Now())
	}
}

// answer handles one request; true ends the connection.
func (s *server) answer(ctx context.Context, conn *negotiate.Conn, m *negotiate.Message) bool {
	switch m.Type {
	case negotiate.TypeHello:
		s.subscribe(ctx, conn, m.Hello)
		return true
	case negotiate.TypeList:
		for _, page := range negotiate.StreamPages(s.d.list()) {
			if err := conn.Send(page); err != nil {
				s.complain("list", "cannot answer", err, "subscriber", conn.Peer().PID)
				return true
			}
		}
	case negotiate.TypeStatus:
		doc, err := s.statusDocument()
		if err == nil {
			err = conn.Send(&negotiate.Message{Type: negotiate.TypeStatus, Status: doc})
		}
		if err != nil {
			s.complain("status", "cannot answer", err, "subscriber", conn.Peer().PID)
			return true
		}
	case negotiate.TypeBye:
		return true
	default:
		s.reject(conn, &negotiate.Refusal{Reason: negotiate.ReasonProtocol, Text: fmt.Sprintf("%s cannot begin a conversation", m.Type)})
		return true
	}
	return false
}

func (s *server) statusDocument() (json.RawMessage, error) {
	return fit(s.d.Status(), negotiate.MaxPacket-1024)
}

// reject says no and why, first to the client: a log can be slow.
func (s *server) reject(conn *negotiate.Conn, r *negotiate.Refusal) {
	s.send(conn, r)
	s.logRefusal(conn.Peer(), r)
}

// send counts a refusal, unless clients wait and ask again, and sends it.
func (s *server) send(conn *negotiate.Conn, r *negotiate.Refusal) {
	if r.Reason != negotiate.ReasonNotReady {
		s.mu.Lock()
		s.refused[r.Reason]++
		s.mu.Unlock()
	}
	_ = conn.Send(&negotiate.Message{Type: negotiate.TypeReject, Reject: r})
}

func (s *server) logRefusal(p negotiate.Peer, r *negotiate.Refusal) {
	if r.Reason != negotiate.ReasonNotReady && s.mayComplain(fmt.Sprintf("%s %d %d", r.Reason, p.PID, p.UID)) {
		s.d.log.Warn("request refused", "err", errors.New(r.Text),
			"reason", r.Reason, "subscriber", p.PID, "command", linux.Command(p.PID), "uid", p.UID)
	}
}

// subscribe finds the stream and tries its backends in the decided order.
func (s *server) subscribe(ctx context.Context, conn *negotiate.Conn, h *negotiate.Hello) {
	if err := h.Protocol.Check(); err != nil {
		s.reject(conn, &negotiate.Refusal{Reason: negotiate.ReasonProtocol, Text: err.Error()})
		return
	}
	if p := conn.Peer(); s.d.quarantine.Holds(p.PID, p.UID) {
		s.reject(conn, &negotiate.Refusal{Reason: negotiate.ReasonQuarantined, Text: fmt.Sprintf("process %d was evicted and still holds frames", p.PID)})
		return
	}
	st, life, refusal := s.d.lookup(h.Stream)
	if refusal != nil {
		s.reject(conn, refusal)
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(life, func() { cancel(context.Cause(life)) })()
	order, rejected := negotiate.Decide(h, st.candidates())
	for _, b := range st.backends() {
		if !contains(order, b.Candidate().Backend) {
			continue
		}
		err := b.Serve(ctx, conn, h, rejected)
		var declined *backend.DeclinedError
		if !errors.As(err, &declined) {
			if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
				s.complain(fmt.Sprintf("subscribe %d", conn.Peer().PID), "subscription failed", err, "stream", h.Stream, "subscriber", conn.Peer().PID)
				if errors.Is(err, negotiate.ErrProtocol) {
					s.reject(conn, &negotiate.Refusal{Reason: negotiate.ReasonProtocol, Text: err.Error()})
				}
			}
			return
		}
		rejected = append(rejected, declined.Rejected)
	}
	s.reject(conn, noBackend(h, rejected))
}

// noBackend says why nothing that the client accepts could be had. The reason
// is that of the best backend it asked for that the daemon knows.
func noBackend(h *negotiate.Hello, rejected []negotiate.Rejected) *negotiate.Refusal {
	r := &negotiate.Refusal{Reason: negotiate.ReasonNotOffered, Rejected: rejected}
	rank := func(x negotiate.Reason) int {
		switch x {
		case negotiate.ReasonNotAccepted:
			return 0
		case negotiate.ReasonNotOffered:
			return 1
		case negotiate.ReasonNotReady:
			return 3 // which passes by itself, whatever became of the better ones
		case negotiate.ReasonOverZenoh:
			return 4 // that is a way on
		}
		return 2
	}
	best := -1
	var words []string
	for _, x := range rejected {
		if k := rank(x.Reason); k > best {
			best, r.Reason = k, x.Reason
		}
		if x.Reason == negotiate.ReasonNotAccepted && x.Detail == "" {
			continue
		}
		w := fmt.Sprintf("%s: %s", x.Backend, x.Reason)
		if x.Detail != "" {
			w += " (" + x.Detail + ")"
		}
		words = append(words, w)
	}
	asked := fmt.Sprintf("accepted %v", h.Accepts)
	if h.Require != "" {
		asked = "required " + string(h.Require)
	}
	r.Text = fmt.Sprintf("no path to %s, %s: %s", h.Stream, asked, strings.Join(words, "; "))
	return r
}

func contains(list []negotiate.Backend, b negotiate.Backend) bool {
	for _, x := range list {
		if x == b {
			return true
		}
	}
	return false
}
