// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/zenoh"
)

// work uses everything of a session until done is closed. What fails, fails:
// only what never ends is wrong.
func work(ctx context.Context, s *zenoh.Session, prefix string, done <-chan struct{}) {
	large := noise(150_000)
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		default:
		}
		c, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		_ = s.WaitConnected(c)
		_ = s.Put(c, prefix+"/small", []byte("x"), &zenoh.PutOptions{Attachment: []byte("att"), Timestamp: s.Timestamp()})
		_ = s.Put(c, prefix+"/large", large, &zenoh.PutOptions{QoS: zenoh.QoS{Congestion: zenoh.CongestionBlock}})
		_ = s.Delete(c, prefix+"/small", nil)
		if t, err := s.Token(fmt.Sprintf("%s/token/%d", prefix, i%5)); err == nil {
			_, _ = s.Liveliness(c, prefix+"/**")
			_ = t.Close()
		}
		if r, err := s.Get(c, prefix+"/q?x=1", &zenoh.GetOptions{Payload: []byte("p"), Target: zenoh.All}); err == nil {
			for v := range r.All(c) {
				v.Release()
			}
			_ = r.Close()
		}
		cancel()
	}
}

// Real nodes and a session of ours use everything, while what passes between
// them is changed, one way or both: nothing panics or hangs, memory stays where
// it was, and once the line is clean all works as before. A node that got such
// traffic is started anew: 1.10.2 at times dies of it.
func TestMutatedTraffic(t *testing.T) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	t.Run("at once", func(t *testing.T) {
		for i, v := range versions {
			for _, mode := range []string{"router", "peer"} {
				t.Run(v+"/"+mode, func(t *testing.T) {
					t.Parallel()
					mutated(t, v, mode, false)
				})
			}
			if i == 0 { // what old nodes make of it is not ours to know
				t.Run(v+"/both ways", func(t *testing.T) {
					t.Parallel()
					mutated(t, v, "router", true)
				})
			}
		}
	})
	if after := heap(); after > before+32<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}

func mutated(t *testing.T, version, mode string, toNode bool) {
	e := fmt.Sprintf("tcp/127.0.0.1:%d", proctest.Port(t))
	n := start(t, version, listening(mode, e))
	p := newProxy(t, strings.TrimPrefix(e, "tcp/"))
	c := quick(p.endpoint())
	c.Connect.RetryInit, c.Connect.RetryMax = time.Millisecond, 10*time.Millisecond
	c.Transport.OpenTimeout = 200 * time.Millisecond
	c.Transport.MaxMessage = 4 << 20
	s := open(t, c)
	var samples, queries, tokens atomic.Uint64
	_, errSub := s.Subscribe("busy/**", &zenoh.SubscriberOptions{Handler: zenoh.Handler[zenoh.Sample]{Callback: func(v zenoh.Sample) {
		samples.Add(1)
		v.Release()
	}}})
	_, errQuery := s.Queryable("busy/ask", &zenoh.QueryableOptions{Handler: zenoh.Handler[*zenoh.Query]{Callback: func(q *zenoh.Query) {
		queries.Add(1)
		_ = q.Reply(context.Background(), "busy/ask", q.Payload, nil)
	}}})
	_, errLive := s.SubscribeLiveliness("busy/**", &zenoh.LivelinessOptions{Handler: zenoh.Handler[zenoh.Sample]{Callback: func(zenoh.Sample) { tokens.Add(1) }}})
	_, errPub := s.Publisher("busy/sub/1/x", nil)
	_, errCache := s.Publisher("busy/cached", &zenoh.PublisherOptions{Cache: 2})
	if err := errors.Join(errSub, errQuery, errLive, errPub, errCache); err != nil {
		t.Fatal(err)
	}
	n.do(command{"op": "sink", "name": "sink", "key": "ours/**", "reply": "ours/q"}, "declared")
	f := p.mutate(toNode)
	p.change.Store(&f)
	n.tell(command{"op": "busy", "key": "busy", "size": 150_000})
	done := make(chan struct{})
	worked := make(chan struct{})
	limit := ctx(t)
	go func() {
		defer close(worked)
		work(limit, s, "ours", done)
	}()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for n.alive() && limit.Err() == nil && (p.changed.Load() < 60 || s.Info().Losses < 10) {
		<-look.C
	}
	close(done)
	select {
	case <-worked:
	case <-ctx(t).Done():
		t.Fatal("the session hangs")
	}
	p.change.Store(nil)
	p.cut()
	dead := !n.alive()
	if dead || toNode {
		t.Logf("the node is started anew; it had ended: %v", dead)
		n.kill()
		n = start(t, version, listening(mode, e))
	} else {
		n.do(command{"op": "rest"}, "busied")
	}
	n.do(command{"op": "sub", "name": "clean", "key": "clean/*"}, "declared")
	pub, err := s.Publisher("clean/us", nil)
	if err != nil {
		t.Fatal(err)
	}
	for limit := ctx(t); !pub.Matching(); {
		if limit.Err() != nil {
			t.Fatalf("the session does not come back: %+v", s.Info())
		}
		<-look.C
	}
	if err := pub.Put(ctx(t), []byte("clean"), nil); err != nil {
		t.Error(err)
	}
	if got := n.want("sample"); got.Text != "clean" {
		t.Errorf("the node received %+v", got)
	}
	sub, err := s.Subscribe("back", nil)
	if err != nil {
		t.Fatal(err)
	}
	round(t, s)
	put := n.do(command{"op": "put", "key": "back", "size": 300_000, "congestion": "BLOCK"}, "put")
	if got, err := sub.Receive(ctx(t)); err != nil || sum(got.Payload) != put.SHA256 {
		t.Errorf("%d bytes received, not the same, %v", len(got.Payload), err)
	}
	i := s.Info()
	t.Logf("%d batches changed, %d connections lost; %d samples, %d queries, %d changes of tokens; incomplete %d, stale %d",
		p.changed.Load(), i.Losses, samples.Load(), queries.Load(), tokens.Load(), i.Stats.Incomplete, i.Stats.Stale)
	if !dead && (p.changed.Load() < 60 || i.Losses < 10 || samples.Load() < 20) {
		t.Error("that is little: the test tests nothing")
	}
}

// alive says whether the node has not ended.
func (n *node) alive() bool {
	select {
	case e, ok := <-n.events:
		if ok {
			n.t.Errorf("event %+v", e)
		}
		return ok
	default:
		return true
	}
}
