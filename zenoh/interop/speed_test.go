// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/zenoh"
)

var speedSizes = []int{8, 1 << 10, 64 << 10, 1 << 20, 6_220_800, 40_000_000}

// The reference's shared memory is off: the other host has none.
const bare = "transport: {shared_memory: {enabled: false}}"

// reference starts a node of the reference that connects to an endpoint.
func reference(b *testing.B, mode, endpoint string) *node {
	return start(b, versions[0], fmt.Sprintf("{mode: %q, connect: {endpoints: [%q]}, %s, %s}", mode, endpoint, quiet, bare))
}

// BenchmarkRoundTrip measures there and back, in turn, through a real router:
// ours to a session of ours, ours to a node of the reference, and two nodes of
// the reference; and without one, where the node of the reference is a peer:
// ours to it, and another of the reference to it. The reference's Python
// binding is part of what it costs. It reports medians.
func BenchmarkRoundTrip(b *testing.B) {
	b.Run("router", func(b *testing.B) {
		_, e := router(b, versions[0], bare)
		a, c := client(b, e), client(b, e)
		far, near := reference(b, "client", e), reference(b, "client", e)
		echo(b, c, "our")
		round(b, c)
		roundTrips(b, far, near, map[string]func([]byte) time.Duration{"ours": pinger(b, a, "our"), "ours-reference": pinger(b, a, "mix")}, a)
	})
	b.Run("peer", func(b *testing.B) {
		e := fmt.Sprintf("tcp/127.0.0.1:%d", proctest.Port(b))
		far := start(b, versions[0], listening("peer", e, bare))
		near, a := reference(b, "peer", e), client(b, e)
		roundTrips(b, far, near, map[string]func([]byte) time.Duration{"ours-reference": pinger(b, a, "mix")}, a)
	})
}

var express = zenoh.QoS{Congestion: zenoh.CongestionBlock, Express: true}

// echo sends back what comes, out of the memory that it came in.
func echo(b *testing.B, s *zenoh.Session, key string) {
	pong, err := s.Publisher(key+"/pong", &zenoh.PublisherOptions{QoS: express})
	if err != nil {
		b.Fatal(err)
	}
	_, err = s.Subscribe(key+"/ping", &zenoh.SubscriberOptions{Handler: zenoh.Handler[zenoh.Sample]{Callback: func(v zenoh.Sample) {
		if err := pong.Put(context.Background(), v.Payload, &zenoh.PutOptions{Release: v.Release}); err != nil {
			b.Error(err)
		}
	}}})
	if err != nil {
		b.Fatal(err)
	}
}

// pinger returns what sends a payload and waits until it is back.
func pinger(b *testing.B, s *zenoh.Session, key string) func(payload []byte) time.Duration {
	p, err := s.Publisher(key+"/ping", &zenoh.PublisherOptions{QoS: express})
	if err != nil {
		b.Fatal(err)
	}
	sub, err := s.Subscribe(key+"/pong", nil)
	if err != nil {
		b.Fatal(err)
	}
	return func(payload []byte) time.Duration {
		from := time.Now()
		if err := p.Put(context.Background(), payload, &zenoh.PutOptions{Release: func() {}}); err != nil {
			b.Fatal(err)
		}
		v, err := sub.Receive(ctx(b))
		if err != nil {
			b.Fatal(err)
		}
		took := time.Since(from)
		v.Release()
		return took
	}
}

func roundTrips(b *testing.B, far, near *node, pings map[string]func([]byte) time.Duration, ours *zenoh.Session) {
	far.do(command{"op": "echo", "name": "m", "key": "mix/ping", "to": "mix/pong"}, "declared")
	far.do(command{"op": "echo", "name": "e", "key": "ref/ping", "to": "ref/pong"}, "declared")
	near.do(command{"op": "pinger", "name": "p", "to": "ref/ping", "key": "ref/pong"}, "declared")
	round(b, ours)
	for _, size := range speedSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			payload := noise(size)
			took := map[string][]float64{}
			for b.Loop() {
				for name, ping := range pings {
					took[name] = append(took[name], float64(ping(payload).Microseconds()))
				}
				took["reference"] = append(took["reference"], near.do(command{"op": "ping", "name": "p", "size": size}, "ping").Micros)
			}
			for name, v := range took {
				b.ReportMetric(middle(v), name+"-µs")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func middle(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// flow is a way that samples go.
type flow struct {
	name string
	// run sends n samples and returns how long it took until they had arrived.
	run func(payload []byte, n int) time.Duration
	// works are the nodes that work for it; self: this process does too.
	works []*node
	self  bool
}

// BenchmarkThroughput measures how much arrives, in turn: through a real router
// from a session of ours to another, and from a node of the reference to
// another; and without one, to and from a peer of the reference, by ours and by
// another of the reference. It reports medians, and the CPU seconds a GB of all
// processes on the way.
func BenchmarkThroughput(b *testing.B) {
	b.Run("router", func(b *testing.B) {
		r, e := router(b, versions[0], bare)
		a, c := client(b, e), client(b, e)
		from, to := reference(b, "client", e), reference(b, "client", e)
		to.do(command{"op": "count", "name": "c", "key": "ref/thr"}, "declared")
		put, count := source(b, a, "our/thr"), drain(b, c, "our/thr")
		round(b, c)
		round(b, a)
		throughput(b, []flow{
			{"ours", func(payload []byte, n int) time.Duration {
				start := time.Now()
				wait := count(n)
				put(payload, n)
				wait()
				return time.Since(start)
			}, []*node{r}, true},
			{"reference", func(payload []byte, n int) time.Duration { return between(from, to, len(payload), n) }, []*node{r, from, to}, false},
		})
	})
	b.Run("peer", func(b *testing.B) {
		e := fmt.Sprintf("tcp/127.0.0.1:%d", proctest.Port(b))
		peer := start(b, versions[0], listening("peer", e, bare))
		other, a := reference(b, "peer", e), client(b, e)
		peer.do(command{"op": "count", "name": "c", "key": "ref/thr"}, "declared")
		put, count := source(b, a, "ref/thr"), drain(b, a, "our/thr")
		round(b, a)
		throughput(b, []flow{
			{"ours-to-reference", func(payload []byte, n int) time.Duration {
				peer.do(command{"op": "await", "count": n}, "armed")
				put(payload, n)
				return time.Duration(1e3 * peer.want("counted").Micros)
			}, []*node{peer}, true},
			{"reference-to-ours", func(payload []byte, n int) time.Duration {
				start := time.Now()
				wait := count(n)
				peer.tell(command{"op": "pump", "key": "our/thr", "size": len(payload), "times": n})
				wait()
				took := time.Since(start)
				peer.want("put")
				return took
			}, []*node{peer}, true},
			{"reference", func(payload []byte, n int) time.Duration { return between(other, peer, len(payload), n) }, []*node{other, peer}, false},
		})
	})
}

// source returns what puts samples.
func source(b *testing.B, s *zenoh.Session, key string) func(payload []byte, n int) {
	p, err := s.Publisher(key, &zenoh.PublisherOptions{QoS: zenoh.QoS{Congestion: zenoh.CongestionBlock}})
	if err != nil {
		b.Fatal(err)
	}
	o := &zenoh.PutOptions{Release: func() {}}
	return func(payload []byte, n int) {
		for range n {
			if err := p.Put(context.Background(), payload, o); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// drain returns what begins to count, and returns what waits for the last.
func drain(b *testing.B, s *zenoh.Session, key string) func(n int) (wait func()) {
	arrived, left := make(chan struct{}, 1), 0
	_, err := s.Subscribe(key, &zenoh.SubscriberOptions{Handler: zenoh.Handler[zenoh.Sample]{Callback: func(v zenoh.Sample) {
		v.Release()
		if left--; left == 0 {
			arrived <- struct{}{}
		}
	}}})
	if err != nil {
		b.Fatal(err)
	}
	return func(n int) func() {
		left = n
		return func() { <-arrived }
	}
}

// between sends from a node of the reference to one that counts.
func between(from, to *node, size, n int) time.Duration {
	to.do(command{"op": "await", "count": n}, "armed")
	from.tell(command{"op": "pump", "key": "ref/thr", "size": size, "times": n})
	took := time.Duration(1e3 * to.want("counted").Micros)
	from.want("put")
	return took
}

func throughput(b *testing.B, flows []flow) {
	for _, size := range speedSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			payload := noise(size)
			n := max(min(64<<20/size, 50_000), 4)
			rate, cpu, sent := map[string][]float64{}, map[string]time.Duration{}, 0.0
			for _, f := range flows {
				f.run(payload, n)
			}
			for b.Loop() {
				for _, f := range flows {
					before := f.cpu(b)
					rate[f.name] = append(rate[f.name], float64(n)/f.run(payload, n).Seconds())
					cpu[f.name] += f.cpu(b) - before
				}
				sent += float64(n) * float64(size)
			}
			for _, f := range flows {
				b.ReportMetric(middle(rate[f.name]), f.name+"-msg/s")
				b.ReportMetric(cpu[f.name].Seconds()*1e9/sent, f.name+"-cpu-s/GB")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// cpu is what the processes of the flow have used.
func (f *flow) cpu(b *testing.B) (used time.Duration) {
	if f.self {
		var r syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
		used = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	for _, n := range f.works {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.cmd.Process.Pid))
		if err != nil {
			b.Fatal(err)
		}
		// utime and stime, in ticks of 10 ms: proc(5), fields 14 and 15.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		for _, v := range fields[11:13] {
			ticks, err := strconv.Atoi(string(v))
			if err != nil {
				b.Fatal(err)
			}
			used += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return used
}
