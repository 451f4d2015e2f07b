// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh"
)

// announcer shows the streams to others on the network, each by a liveliness
// token and a queryable, and learns from tokens who subscribes to them there.
// See [negotiate.AnnouncedKey].
type announcer struct {
	d      *Daemon
	access Access
	boot   string
	log    *slog.Logger
	wake   chan struct{} // capacity 1: streams may have come or gone
	asked  chan asked

	shown   map[string]*shown // by stream; only run uses it
	visitor visitors
	limit   limiter

	mu   sync.Mutex
	docs map[docKey]doc // that were made lately

	answered   atomic.Uint64
	unanswered atomic.Uint64 // because too many asked at once
}

// shown is what was declared for a stream.
type shown struct {
	token     *zenoh.Token
	queryable *zenoh.Queryable
}

// asked is a question that waits.
type asked struct {
	stream string
	query  *zenoh.Query
}

const (
	// answerers is how many questions are answered at a time: one whose network
	// takes nothing holds one of them, for as long as the session waits.
	answerers = 4
	// maxAsked is how many questions may wait; more end without an answer.
	maxAsked = 4096
	// maxPayload bounds what a question may bring along, which nobody reads.
	maxPayload = 4096
)

func newAnnouncer(d *Daemon, access Access, log *slog.Logger) *announcer {
	return &announcer{
		d: d, access: access, boot: linux.BootID(), log: log, wake: make(chan struct{}, 1), asked: make(chan asked, maxAsked),
		shown: make(map[string]*shown), docs: make(map[docKey]doc),
		visitor: visitors{access: access, log: log, seen: make(map[string]visitor)},
	}
}

// renew has the streams looked at; nil has none to look at.
func (a *announcer) renew() {
	if a == nil {
		return
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// run shows the streams and answers for them until ctx is done.
func (a *announcer) run(ctx context.Context) {
	n := a.d.network
	defer n.link.Join(a.renew)()
	var answering sync.WaitGroup
	defer a.end(&answering)
	var session *zenoh.Session
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		}
		if session == nil {
			if session = n.current(); session == nil {
				continue // who opens it tells
			}
			for range answerers {
				answering.Go(func() { a.answer(ctx) })
			}
			a.watch(session)
		}
		a.settle(session)
	}
}

// end takes everything back, and leaves nobody without an end of the answers.
func (a *announcer) end(answering *sync.WaitGroup) {
	for _, x := range a.shown {
		x.close()
	}
	answering.Wait()
	for {
		select {
		case q := <-a.asked:
			_ = q.query.Close()
		default:
			return
		}
	}
}

// settle shows the streams that are there, and no others.
func (a *announcer) settle(s *zenoh.Session) {
	there := make(map[string]bool)
	for _, i := range a.d.list().Streams {
		there[i.Name] = true
		if a.shown[i.Name] == nil {
			a.shown[i.Name] = a.show(s, i.Name)
		}
	}
	for name, x := range a.shown {
		if !there[name] {
			x.close()
			delete(a.shown, name)
		}
	}
}

// show declares a stream. What fails stays away: a session that is closed, as no
// name of a stream can be wrong here.
func (a *announcer) show(s *zenoh.Session, stream string) *shown {
	out := &shown{}
	key := negotiate.AnnouncedKey{BootID: a.boot, Stream: stream}.String()
	var err error
	if a.access.Answer.Stream(stream) {
		// Not complete: another daemon of this host may have the key too.
		o := &zenoh.QueryableOptions{MaxQuery: maxPayload}
		o.Callback = func(q *zenoh.Query) { a.ask(stream, q) }
		if out.queryable, err = s.Queryable(key, o); err != nil {
			a.log.Debug("stream answers nobody", "stream", stream, "err", err)
		}
	}
	if a.access.Announce.Stream(stream) {
		if out.token, err = s.Token(key); err != nil {
			a.log.Debug("stream is not announced", "stream", stream, "err", err)
		}
	}
	if out.token != nil {
		a.log.Debug("stream announced", "stream", stream, "key", key, "answers", out.queryable != nil)
	}
	return out
}

// ask has a question wait for its answer. It is called from the goroutine that
// reads the network.
func (a *announcer) ask(stream string, q *zenoh.Query) {
	if len(q.Payload)+len(q.Attachment) > maxPayload {
		a.unanswered.Add(1)
		return
	}
	q.Keep()
	select {
	case a.asked <- asked{stream, q}:
	default:
		a.unanswered.Add(1)
		_ = q.Close()
	}
}

func (x *shown) close() {
	if x.token != nil {
		_ = x.token.Close()
	}
	if x.queryable != nil {
		_ = x.queryable.Close()
	}
}

// watch learns who subscribes over the network.
func (a *announcer) watch(s *zenoh.Session) {
	o := &zenoh.LivelinessOptions{History: true}
	o.Callback = a.visitor.hear
	if _, err := s.SubscribeLiveliness(negotiate.AnnouncedHostSubscribers(a.boot), o); err != nil {
		a.log.Debug("subscribers on the network are not listed", "err", err)
	}
}
