// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func bounded(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return c
}

func silent() *Options {
	return &Options{Logger: slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError}))}
}

// joined opens a session to a fake node. The node's messages go to seen, if
// that is not nil, and away otherwise.
func joined(t testing.TB, seen func(n *fakenode.Node, g fakenode.Got)) (*Session, *fakenode.Node) {
	t.Helper()
	l, err := fakenode.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	nodes := make(chan *fakenode.Node, 1)
	var reading sync.WaitGroup
	reading.Add(1)
	go func() {
		defer reading.Done()
		n, err := l.Accept()
		nodes <- n
		if err != nil {
			t.Error(err)
			return
		}
		for {
			g, err := n.Next()
			if err != nil {
				_ = n.Close()
				return
			}
			if seen != nil {
				seen(n, g)
			}
		}
	}()
	s, err := Open(bounded(t), config.Client(l.Endpoint()), silent())
	if err != nil {
		t.Fatal(err)
	}
	n := <-nodes
	t.Cleanup(func() {
		if err := s.Close(bounded(t)); err != nil {
			t.Errorf("closing: %v", err)
		}
		_ = n.Close()
		reading.Wait()
	})
	return s, n
}

func TestLocalDelivery(t *testing.T) {
	s, _ := joined(t, nil)
	for _, c := range []struct {
		origin, destination Locality
		want                bool
	}{
		{LocalityAny, LocalityAny, true},
		{LocalitySession, LocalityAny, true},
		{LocalityRemote, LocalityAny, false},
		{LocalityAny, LocalityRemote, false},
		{LocalityAny, LocalitySession, true},
	} {
		got := 0
		sub, err := s.Subscribe("a/*", &SubscriberOptions{Origin: c.origin, Handler: Handler[Sample]{Callback: func(Sample) { got++ }}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(bounded(t), "a/b", []byte("x"), &PutOptions{Destination: c.destination}); err != nil {
			t.Error(err)
		}
		p, err := s.Publisher("a/b", &PublisherOptions{Destination: c.destination})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Put(bounded(t), []byte("x"), nil); err != nil {
			t.Error(err)
		}
		want := 0
		if c.want {
			want = 2
		}
		if got != want {
			t.Errorf("origin %d, destination %d: %d samples, want %d", c.origin, c.destination, got, want)
		}
		if err := errors.Join(p.Close(), sub.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestRingKeepsTheNewest(t *testing.T) {
	s, _ := joined(t, nil)
	sub, err := s.Subscribe("a", &SubscriberOptions{Handler: Handler[Sample]{Ring: 3}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if err := s.Put(bounded(t), "a", fmt.Appendf(nil, "%d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"7", "8", "9"} {
		if got, err := sub.Receive(bounded(t)); err != nil || string(got.Payload) != want {
			t.Errorf("%q, %v, want %s", got.Payload, err, want)
		}
	}
	if sub.Dropped() != 7 {
		t.Errorf("%d dropped, want 7", sub.Dropped())
	}
	if err := s.Put(bounded(t), "a", []byte("left"), nil); err != nil {
		t.Fatal(err)
	}
	if err := sub.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := sub.Receive(bounded(t)); err != nil || string(got.Payload) != "left" {
		t.Errorf("%q, %v: what was received before Close is lost", got.Payload, err)
	}
	if _, err := sub.Receive(bounded(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("%v, want ErrClosed", err)
	}
	gone, cancel := context.WithCancel(bounded(t))
	cancel()
	other, err := s.Subscribe("b", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Receive(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the cancellation", err)
	}
}

// Samples share memory; each receiver gives its share back.
func TestSharedMemoryOfSamples(t *testing.T) {
	s, _ := joined(t, nil)
	var subs []*Subscriber
	for range 3 {
		sub, err := s.Subscribe("a", nil)
		if err != nil {
			t.Fatal(err)
		}
		subs = append(subs, sub)
	}
	for i := range 50 {
		want := fmt.Sprintf("payload %d", i)
		if err := s.Put(bounded(t), "a", []byte(want), &PutOptions{Attachment: []byte("att")}); err != nil {
			t.Fatal(err)
		}
		var got []Sample
		for _, sub := range subs {
			v, err := sub.Receive(bounded(t))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, v)
		}
		got[0].Release()
		got[0].Release() // a second time does nothing
		for _, v := range got[1:] {
			if string(v.Payload) != want || string(v.Attachment) != "att" {
				t.Errorf("%q with %q, want %q", v.Payload, v.Attachment, want)
			}
		}
		got[1].Release()
	}
}

func TestLocalQueries(t *testing.T) {
	s, _ := joined(t, func(n *fakenode.Node, g fakenode.Got) {
		for _, m := range g.Messages {
			if m.ID == wire.IDRequest {
				if err := n.Tell(&wire.ResponseFinal{ID: m.Request.ID}); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for i, complete := range []bool{false, true} {
		_, err := s.Queryable(fmt.Sprintf("q/%d/**", i), &QueryableOptions{Complete: complete, Handler: Handler[*Query]{Callback: func(q *Query) {
			if err := q.Reply(context.Background(), fmt.Sprintf("q/%d/x", i), q.Payload, nil); err != nil {
				t.Error(err)
			}
		}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		selector string
		target   Target
		want     []string
	}{
		{"q/**", BestMatching, []string{"q/0/x", "q/1/x"}},
		{"q/1/*", BestMatching, []string{"q/1/x"}},
		{"q/1/**", AllComplete, []string{"q/1/x"}},
		{"q/0/**", AllComplete, nil},
		{"none", All, nil},
	} {
		r, err := s.Get(bounded(t), c.selector, &GetOptions{Target: c.target, Payload: []byte("p")})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for v := range r.All(bounded(t)) {
			got = append(got, v.Key)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) || r.Err() != nil {
			t.Errorf("%s to %d: %q, %v, want %q", c.selector, c.target, got, r.Err(), c.want)
		}
	}
}

func TestStampsNeverGoBack(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := clock{id: ZID{1}, now: func() time.Time { return now }}
	last := c.stamp()
	if d := last.Time().Sub(now); d < 0 || d > time.Microsecond {
		t.Errorf("stamp is %v off", d)
	}
	next := func(what string) {
		t.Helper()
		s := c.stamp()
		if !last.Before(s) {
			t.Errorf("%s: %v after %v", what, s, last)
		}
		last = s
	}
	for range 100 {
		next("clock stands still")
	}
	now = now.Add(-time.Hour)
	next("clock went back")
	now = now.Add(2 * time.Hour)
	next("clock went on")
	ahead := Timestamp{NTP64: wire.NTP64(now.Add(200 * time.Millisecond)), ID: ZID{2}}
	c.follow(ahead)
	if s := c.stamp(); !ahead.Before(s) {
		t.Error("a stamp from outside was not followed")
	}
	c.follow(Timestamp{NTP64: wire.NTP64(now.Add(time.Hour)), ID: ZID{2}})
	if s := c.stamp(); s.Time().Sub(now) > time.Second {
		t.Error("a stamp from the far future was followed")
	}
}

func TestPausesGrow(t *testing.T) {
	for _, c := range []struct {
		connect config.Connect
		want    []time.Duration // after the first
	}{
		{config.New().Connect, []time.Duration{2 * time.Second, 4 * time.Second, 4 * time.Second}},
		{config.Connect{RetryInit: time.Second, RetryMax: time.Millisecond, RetryFactor: 2}, []time.Duration{time.Second, time.Second}},
		{config.Connect{RetryInit: time.Second, RetryMax: time.Minute, RetryFactor: 0}, []time.Duration{time.Second, time.Second}},
		{config.Connect{RetryInit: time.Second, RetryMax: 10 * time.Second, RetryFactor: 1.5}, []time.Duration{1500 * time.Millisecond, 2250 * time.Millisecond}},
	} {
		pause := c.connect.RetryInit
		for i, want := range c.want {
			if pause = longer(pause, &c.connect); pause != want {
				t.Errorf("%+v: pause %d is %v, want %v", c.connect, i+1, pause, want)
			}
		}
	}
}

func TestClosedSession(t *testing.T) {
	s, _ := joined(t, nil)
	sub, err := s.Subscribe("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Publisher("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := sub.Receive(context.Background())
		waiting <- err
	}()
	if err := errors.Join(s.Close(bounded(t)), s.Close(bounded(t))); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; !errors.Is(err, ErrClosed) {
		t.Errorf("waiting receiver: %v", err)
	}
	released := 0
	o := &PutOptions{Release: func() { released++ }}
	_, errSub := s.Subscribe("a", nil)
	_, errGet := s.Get(bounded(t), "a", nil)
	_, errToken := s.Token("a")
	for what, err := range map[string]error{"subscribe": errSub, "get": errGet, "token": errToken, "publisher": p.Put(bounded(t), nil, o)} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", what, err)
		}
	}
	if err := s.Put(bounded(t), "a", nil, o); !errors.Is(err, ErrClosed) {
		t.Errorf("put: %v", err)
	}
	if released != 2 {
		t.Errorf("%d payloads given back, want 2", released)
	}
}

func TestInvalidKeys(t *testing.T) {
	s, _ := joined(t, nil)
	released := false
	_, errSub := s.Subscribe("/a", nil)
	_, errPub := s.Publisher("a//b", nil)
	_, errGet := s.Get(bounded(t), "**/**?x", nil)
	for what, err := range map[string]error{
		"subscribe": errSub, "publisher": errPub, "get": errGet,
		"put": s.Put(bounded(t), "a#b", nil, &PutOptions{Release: func() { released = true }}),
	} {
		if !errors.Is(err, ErrKeyExpr) {
			t.Errorf("%s: %v, want ErrKeyExpr", what, err)
		}
	}
	if !released {
		t.Error("the payload was not given back")
	}
}
