// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh"
)

const (
	// freshFor is how long an announcement serves every question: to make one
	// takes locks that frames need too.
	freshFor = 100 * time.Millisecond
	// maxAnswers bounds the answers in a second, to all who ask.
	maxAnswers = 5000
	// maxDocs bounds the announcements that are kept.
	maxDocs = 512
)

// docKey is a document: of a stream, for who is on this host by its own word or
// for others.
type docKey struct {
	stream string
	here   bool
}

type doc struct {
	made time.Time
	json []byte // nil: the stream is gone
}

// limiter bounds how often something happens in a second.
type limiter struct {
	mu    sync.Mutex
	began time.Time
	n     int
}

// wait takes a turn: it returns after 0, or after the end of a second that is
// full, in which it then has to be asked again.
func (l *limiter) wait(now time.Time, most int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if past := now.Sub(l.began); past < 0 || past >= time.Second {
		l.began, l.n = now, 0
	}
	if l.n >= most {
		return l.began.Add(time.Second).Sub(now)
	}
	l.n++
	return 0
}

// answer answers questions until ctx is done.
func (a *announcer) answer(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case q := <-a.asked:
			for pause := a.limit.wait(time.Now(), maxAnswers); pause > 0; pause = a.limit.wait(time.Now(), maxAnswers) {
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
				if ctx.Err() != nil {
					break
				}
			}
			a.reply(ctx, q)
		}
	}
}

// reply answers one question, and waits for a network that is busy as long as
// the session does.
func (a *announcer) reply(ctx context.Context, q asked) {
	defer q.query.Close()
	here := a.boot != "" && negotiate.AskedFrom(q.query.Parameters) == a.boot
	b := a.document(docKey{q.stream, here}, time.Now())
	if b == nil {
		return // it is gone
	}
	key := negotiate.AnnouncedKey{BootID: a.boot, Stream: q.stream}
	err := q.query.Reply(ctx, key.String(), b, &zenoh.ReplyOptions{Encoding: zenoh.ParseEncoding("application/json")})
	if err != nil {
		a.log.Debug("no answer sent", "stream", q.stream, "err", err)
		return
	}
	a.answered.Add(1)
}

// document is the announcement of a stream, not older than freshFor.
func (a *announcer) document(k docKey, now time.Time) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if d, ok := a.docs[k]; ok && now.Sub(d.made) < freshFor && now.Sub(d.made) >= 0 {
		return d.json
	}
	if len(a.docs) >= maxDocs {
		clear(a.docs)
	}
	d := doc{made: now}
	if out, ok := a.announcement(k.stream); ok {
		if k.here {
			out.RuntimeDir = a.d.server.listener.Dir()
		}
		var err error
		if d.json, err = out.Encode(); err != nil {
			a.log.Warn("stream cannot be announced", "stream", k.stream, "err", err)
		}
	}
	a.docs[k] = d
	return d.json
}

// stale forgets what was said of a stream that has changed.
func (a *announcer) stale(stream string) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.docs, docKey{stream, false})
	delete(a.docs, docKey{stream, true})
}

// announcement says what there is to say of a stream; false: there is none.
func (a *announcer) announcement(name string) (negotiate.Announcement, bool) {
	d := a.d
	out := negotiate.Announcement{Host: d.host, BootID: a.boot, Session: d.session.String(), Version: d.Version, PID: os.Getpid()}
	for _, c := range d.all() {
		s := c.find(name)
		if s == nil {
			if p := c.placeholder(); p.Name == name && len(c.all()) == 0 {
				out.Stream = p
				return out, true
			}
			continue
		}
		out.Stream = s.info()
		out.Stream.Subscribed = s.subscribed()
		for _, x := range s.subscribers() {
			out.Subscribers = append(out.Subscribers, announced(x))
		}
		if s.cpu == nil {
			return out, true
		}
		for _, t := range s.cpu.Topics() {
			if t.Problem == "" {
				out.Topics = append(out.Topics, negotiate.AnnouncedTopic{Topic: t.Topic, Type: t.Type, Encoding: t.Encoding, QoS: t.QoS})
			}
		}
		return out, true
	}
	return out, false
}

// announced is what strangers may know of a subscriber: no process, no user.
func announced(s backend.Subscriber) negotiate.AnnouncedSubscriber {
	return negotiate.AnnouncedSubscriber{Backend: s.Backend, Host: s.Host, Client: s.Client, Since: s.Since, Rejected: s.Rejected}
}
