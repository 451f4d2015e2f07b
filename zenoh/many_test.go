// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package zenoh

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// crowd is who is on one peer.
type crowd struct{ keys, subscribers, sessions int }

// cost is what a crowd takes, both ends of each connection together.
type cost struct {
	session, subscriber int64         // bytes
	declare, sample     time.Duration // CPU time of a subscriber's declaration, and of a sample to one subscriber
}

// Thirty sessions with 200 subscribers on one peer with 1000 publishers: each
// sample reaches whom it concerns, and nothing is left when they have gone.
func TestManyOnOnePeer(t *testing.T) {
	c := many(t, crowd{1000, 200, 30})
	t.Logf("%d KB a session, %d B a subscriber; CPU: %v a declaration, %v a sample", c.session>>10, c.subscriber, c.declare, c.sample)
}

// BenchmarkManyOnOnePeer shows that memory and CPU time of each of them stay the
// same when there are more.
func BenchmarkManyOnOnePeer(b *testing.B) {
	for _, c := range []crowd{{1000, 200, 30}, {1000, 200, 60}, {1000, 400, 30}, {1000, 800, 30}, {2000, 200, 30}, {4000, 800, 60}} {
		b.Run(fmt.Sprintf("keys=%d/subscribers=%d/sessions=%d", c.keys, c.subscribers, c.sessions), func(b *testing.B) {
			var all cost
			for range b.N {
				one := many(b, c)
				all.session += one.session
				all.subscriber += one.subscriber
				all.declare += one.declare
				all.sample += one.sample
			}
			n := float64(b.N)
			b.ReportMetric(float64(all.session)/1024/n, "KiB/session")
			b.ReportMetric(float64(all.subscriber)/n, "B/subscriber")
			b.ReportMetric(float64(all.declare.Microseconds())/n, "cpu-µs/declaration")
			b.ReportMetric(float64(all.sample.Nanoseconds())/1e3/n, "cpu-µs/sample")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// heap is what is in use, without what pools keep.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // pools are emptied by the second
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// spent is the CPU time of the process.
func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// files is how many the process has open; 0 where that cannot be seen.
func files() int {
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}

// known is how many remote subscribers the publishers know of.
func known(pubs []*Publisher) (n int) {
	for _, p := range pubs {
		p.mu.Lock()
		for _, ids := range p.remote {
			n += len(ids)
		}
		p.mu.Unlock()
	}
	return n
}

// many lets sessions subscribe at a peer, each subscriber twice, publishes, and
// lets them go.
func many(t testing.TB, c crowd) (out cost) {
	s, err := Open(bounded(t), apart(), silent())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(bounded(t))
	var pubs []*Publisher
	for i := range c.keys {
		p, err := s.Publisher(fmt.Sprintf("many/%d/%d", i%c.subscribers, i), &PublisherOptions{QoS: QoS{Congestion: CongestionBlock}})
		if err != nil {
			t.Fatal(err)
		}
		pubs = append(pubs, p)
	}
	goroutines, fds, before := runtime.NumGoroutine(), files(), heap()
	var others []*Session
	for range c.sessions {
		o, err := Open(bounded(t), config.Client(at(s)), silent())
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, o) // nothing else may keep it
	}
	linked(t, c.sessions, s)
	joined := heap()
	var got atomic.Int64
	count := func(v Sample) {
		got.Add(1)
		v.Release()
	}
	cpu := spent()
	for i := range c.subscribers {
		for _, o := range []*Session{others[i%c.sessions], others[(i+1)%c.sessions]} {
			if _, err := o.Subscribe(fmt.Sprintf("many/%d/*", i), &SubscriberOptions{Handler: Handler[Sample]{Callback: count}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "all subscribers are known", func() bool { return known(pubs) == 2*c.keys })
	declared := spent()
	const rounds = 5
	for range rounds {
		ctx := bounded(t)
		for _, p := range pubs {
			if err := p.Put(ctx, []byte("sample"), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := int64(2 * c.keys * rounds)
	eventually(t, "every sample has come", func() bool { return got.Load() == want })
	out.declare = (declared - cpu) / time.Duration(2*c.subscribers)
	out.sample = (spent() - declared) / time.Duration(want)
	out.session = (joined - before) / int64(c.sessions)
	out.subscriber = (heap() - joined) / int64(2*c.subscribers)
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
	eventually(t, "their files are closed", func() bool { return files() <= fds })
	others = nil
	if left := heap() - before; left > 2<<20 {
		t.Errorf("%d bytes are left", left)
	}
	return out
}
