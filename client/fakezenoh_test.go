// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// router is a Zenoh network of one session in memory, as a session sees it.
type router struct {
	t  testing.TB
	mu sync.Mutex

	opened, closed int
	down           error // set: no connection
	subs           map[*registration]func(zenoh.Sample)
	watches        map[*registration]func(string, bool)
	tokens         map[string]bool // of others: true, or of the session
	history        []zenoh.Sample  // answers every query of a cache
	answered       []string        // selectors of caches
	announced      []zenoh.Sample  // answers who asks for streams
	links          []zenoh.Link    // nil: a router
	silent         []zenoh.Link    // these answer nothing
	late           chan struct{}   // not nil: who asks for tokens waits until it is closed, as by a question for streams
}

type registration struct {
	key    string
	cancel func(*registration)
}

func (r *registration) Close() error { r.cancel(r); return nil }

func newRouter(t testing.TB) *router {
	return &router{t: t, subs: map[*registration]func(zenoh.Sample){}, watches: map[*registration]func(string, bool){}, tokens: map[string]bool{}}
}

// option makes a subscription use the router.
func (n *router) option() Option {
	shared := &config.Config{}
	return func(o *options) {
		o.zenoh = shared
		o.open = func(context.Context) (session, error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.down != nil {
				return nil, errors.Join(ErrNoRouter, n.down)
			}
			n.opened++
			return n, nil
		}
	}
}

const testZID = "1234567890abcdef1234567890abcdef"

func (n *router) ZID() string { return testZID }

func (n *router) Subscribe(key string, f func(zenoh.Sample)) (io.Closer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := &registration{key, func(r *registration) { n.mu.Lock(); delete(n.subs, r); n.mu.Unlock() }}
	n.subs[r] = f
	return r, nil
}

func (n *router) Token(key string) (io.Closer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tokens[key] = false
	return &registration{key, func(r *registration) { n.mu.Lock(); delete(n.tokens, r.key); n.mu.Unlock() }}, nil
}

func (n *router) Watch(key string, f func(string, bool)) (io.Closer, error) {
	r := &registration{key, func(r *registration) { n.mu.Lock(); delete(n.watches, r); n.mu.Unlock() }}
	n.mu.Lock()
	n.watches[r] = f
	n.mu.Unlock()
	tokens, err := n.present(key)
	for _, t := range tokens {
		f(t, true)
	}
	return r, err
}

func (n *router) Tokens(ctx context.Context, key string) ([]string, error) {
	n.mu.Lock()
	late := n.late
	n.mu.Unlock()
	if late != nil {
		select {
		case <-late:
		case <-ctx.Done():
		}
	}
	tokens, err := n.present(key)
	if n.silent != nil {
		<-ctx.Done()
		err = &zenoh.Unanswered{By: n.silent, Err: ctx.Err()}
	}
	return tokens, err
}

func (n *router) present(key string) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down != nil {
		return nil, n.down
	}
	var out []string
	for t := range n.tokens {
		if keyexpr.Intersects(key, t) {
			out = append(out, t)
		}
	}
	return out, nil
}

func (n *router) Get(ctx context.Context, selector string, _ int, f func(zenoh.Sample)) error {
	n.mu.Lock()
	history, announced, down := n.history, n.announced, n.down
	n.mu.Unlock()
	if key, parameters, _ := strings.Cut(selector, "?"); strings.HasPrefix(key, "camd/") {
		if negotiate.AskedFrom(parameters) != here().boot {
			n.t.Errorf("asked with %q", parameters)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n.mu.Lock()
		if n.late != nil {
			close(n.late)
			n.late = nil
		}
		n.mu.Unlock()
		for _, s := range announced {
			if down == nil && keyexpr.Intersects(key, s.Key) {
				f(s)
			}
		}
		if n.silent != nil {
			<-ctx.Done()
			return &zenoh.Unanswered{By: n.silent, Err: ctx.Err()}
		}
		return down
	}
	for _, s := range history {
		f(s)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answered = append(n.answered, selector)
	return nil
}

func (n *router) Connected() (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down != nil {
		return "", n.down
	}
	return "tcp/test:7447", nil
}

func (n *router) Others() others {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down != nil {
		return others{}
	}
	if n.links != nil {
		return others{links: n.links}
	}
	return others{links: []zenoh.Link{{Role: wire.Router, Endpoint: "tcp/test:7447", Told: true}}}
}

func (n *router) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed++
	return nil
}

// alive makes tokens of others appear or vanish.
func (n *router) alive(is bool, tokens ...string) {
	for _, t := range tokens {
		n.mu.Lock()
		if is {
			n.tokens[t] = true
		} else {
			delete(n.tokens, t)
		}
		var told []func(string, bool)
		for r, f := range n.watches {
			if keyexpr.Intersects(r.key, t) {
				told = append(told, f)
			}
		}
		n.mu.Unlock()
		for _, f := range told {
			f(t, is)
		}
	}
}

// announce lets a camd of a host announce a stream, published as testTopic.
func (n *router) announce(at place, stream string, change func(*negotiate.Announcement)) {
	n.t.Helper()
	a := negotiate.Announcement{
		Host: at.host, BootID: at.boot, Session: frame.Session{3, 1, 4}.String(), PID: 7,
		Stream: negotiate.StreamInfo{Name: stream, Camera: "test", State: "running", Topic: testTopic},
	}
	if change != nil {
		change(&a)
	}
	b, err := a.Encode()
	if err != nil {
		n.t.Fatal(err)
	}
	key := negotiate.AnnouncedKey{BootID: at.boot, Stream: stream}.String()
	n.mu.Lock()
	n.announced = append(n.announced, zenoh.Sample{Key: key, Payload: b})
	n.mu.Unlock()
	n.alive(true, key)
}

// cut ends the connection, restore makes a new one.
func (n *router) cut() {
	n.mu.Lock()
	n.down = errors.New("connection reset by peer")
	var theirs []string
	for t, others := range n.tokens {
		if others {
			theirs = append(theirs, t)
		}
	}
	n.mu.Unlock()
	n.alive(false, theirs...)
}

func (n *router) restore(tokens ...string) {
	n.mu.Lock()
	n.down = nil
	n.mu.Unlock()
	n.alive(true, tokens...)
}

// ours lists what the subscriptions show of themselves.
func (n *router) ours() (tokens, keys []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for t, others := range n.tokens {
		if !others {
			tokens = append(tokens, t)
		}
	}
	for r := range n.subs {
		keys = append(keys, r.key)
	}
	return tokens, keys
}

// put hands a sample to whoever subscribes to its key, and reports how many
// that were.
func (n *router) put(s zenoh.Sample) int {
	n.mu.Lock()
	var to []func(zenoh.Sample)
	for r, f := range n.subs {
		if keyexpr.Intersects(r.key, s.Key) {
			to = append(to, f)
		}
	}
	n.mu.Unlock()
	for _, f := range to {
		f(s)
	}
	return len(to)
}

// camera publishes images to a router.
type camera struct {
	n      *router
	entity graph.Entity
	gid    graph.GID
	seq    int64
	source int64 // nanoseconds
}

const testTopic = "/cam/image_raw"

// newCamera is a publisher of testTopic; change may alter what it says it is.
func newCamera(n *router, change func(*graph.Entity)) *camera {
	e := graph.Entity{
		ZID: "aac3178e146ba6f1fc6e6a4085e77f21", ID: 1, Kind: graph.KindPublisher, Namespace: "/cam", Node: "driver",
		Topic: testTopic, Type: msg.TypeImage.Name, Hash: msg.TypeImage.Hash, QoS: graph.SensorData(),
	}
	if change != nil {
		change(&e)
	}
	return &camera{n: n, entity: e, gid: e.GID(), source: 1_700_000_000_000_000_000}
}

func (c *camera) appear() *camera { c.n.alive(true, c.entity.Token()); return c }
func (c *camera) vanish()         { c.n.alive(false, c.entity.Token()) }

// sample is a message with the next number, which is in every byte of a picture
// of 6x4.
func (c *camera) sample(change func(*msg.Image)) zenoh.Sample {
	c.seq++
	c.source += 1e6
	m := msg.Image{
		Header: msg.Header{Stamp: msg.TimeOf(c.source - 5e6), FrameID: "lens"}, Height: 4, Width: 6, Encoding: "rgb8", Step: 18,
		Data: bytes.Repeat([]byte{byte(c.seq)}, 72),
	}
	if change != nil {
		change(&m)
	}
	a := graph.Attachment{Sequence: c.seq, SourceNanos: c.source, GID: c.gid}
	return zenoh.Sample{Key: c.entity.Key(), Payload: m.AppendCDR(nil), Attachment: a.Append(nil)}
}

// publish sends a picture to exactly one subscriber.
func (c *camera) publish(change func(*msg.Image)) int64 {
	c.n.t.Helper()
	if got := c.n.put(c.sample(change)); got != 1 {
		c.n.t.Errorf("%d subscribers", got)
	}
	return c.seq
}

// topic subscribes to testTopic.
func (n *router) topic(opts ...Option) *Subscription {
	n.t.Helper()
	s, err := Subscribe(bounded(n.t), testTopic, append([]Option{quiet(), n.option(), WithName("a test")}, opts...)...)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = s.Close() })
	return s
}

// nothing checks that all that was declared is gone.
func (n *router) nothing() {
	n.t.Helper()
	tokens, keys := n.ours()
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(tokens)+len(keys)+len(n.watches) > 0 || n.opened != n.closed {
		n.t.Errorf("left: %v, %v, %d watches; %d sessions opened, %d closed", tokens, keys, len(n.watches), n.opened, n.closed)
	}
}

// told collects events, and waits for one of a kind.
type told struct{ all chan Event }

func newTold() told { return told{make(chan Event, 1000)} }

func (e told) option() Option { return WithEvents(func(ev Event) { e.all <- ev }) }

func (e told) wait(t testing.TB, kind EventKind, part string) Event {
	t.Helper()
	ctx := bounded(t)
	for {
		select {
		case ev := <-e.all:
			if ev.Kind == kind && strings.Contains(ev.Text, part) {
				return ev
			}
		case <-ctx.Done():
			t.Fatalf("no event %s with %q", kind, part)
		}
	}
}
