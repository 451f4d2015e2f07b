// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// Thirty sessions with 200 subscribers on one peer with 1000 publishers: each
// sample reaches whom it concerns, a subscriber costs a bounded number of bytes
// however many there are, and nothing is left when they have gone.
func TestManyOnOnePeer(t *testing.T) {
	const keys, subscribers, sessions = 1000, 200, 30
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // pools are emptied by the second
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	s := opened(t, apart())
	var pubs []*Publisher
	for i := range keys {
		p, err := s.Publisher(fmt.Sprintf("many/%d/%d", i%subscribers, i), &PublisherOptions{QoS: QoS{Congestion: CongestionBlock}})
		if err != nil {
			t.Fatal(err)
		}
		pubs = append(pubs, p)
	}
	goroutines, before := runtime.NumGoroutine(), heap()
	var others []*Session
	for range sessions {
		o, err := Open(bounded(t), config.Client(at(s)), silent())
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, o) // nothing else may keep it
	}
	linked(t, sessions, s)
	joined := heap()
	var got atomic.Int64
	count := func(v Sample) {
		got.Add(1)
		v.Release()
	}
	for i := range subscribers {
		for _, o := range []*Session{others[i%sessions], others[(i+1)%sessions]} {
			if _, err := o.Subscribe(fmt.Sprintf("many/%d/*", i), &SubscriberOptions{Handler: Handler[Sample]{Callback: count}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "all subscribers are known", func() bool {
		n := 0
		for _, p := range pubs {
			p.mu.Lock()
			for _, ids := range p.remote {
				n += len(ids)
			}
			p.mu.Unlock()
		}
		return n == 2*keys
	})
	start := time.Now()
	const rounds = 5
	for range rounds {
		ctx := bounded(t)
		for _, p := range pubs {
			if err := p.Put(ctx, []byte("sample"), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	const want = 2 * keys * rounds
	eventually(t, "every sample has come", func() bool { return got.Load() == want })
	took := time.Since(start)
	known := heap()
	t.Logf("%d KB a session (both ends), %d B a subscriber on %d keys; %d samples to %d in %v", (joined-before)/sessions>>10, (known-joined)/(2*subscribers), keys, keys*rounds, want, took)
	if n := got.Load(); n != want {
		t.Errorf("%d samples came, want %d", n, want)
	}
	for _, o := range others {
		if err := o.Close(bounded(t)); err != nil {
			t.Error(err)
		}
	}
	linked(t, 0, s)
	eventually(t, "nobody subscribes", func() bool {
		n := 0
		for _, p := range pubs {
			p.mu.Lock()
			n += len(p.remote) + len(p.told)
			p.mu.Unlock()
		}
		return n == 0
	})
	eventually(t, "their goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines })
	others = nil
	if left := heap() - before; left > 2<<20 {
		t.Errorf("%d bytes are left", left)
	}
}
