// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh"
)

var speedSizes = []int{8, 1 << 10, 64 << 10, 1 << 20, 6_220_800, 40_000_000}

// BenchmarkRoundTrip measures there and back through a real router, in turn:
// ours to a session of ours, ours to a node of the reference, and two nodes of
// the reference, whose Python binding is part of what it costs. It reports
// medians.
func BenchmarkRoundTrip(b *testing.B) {
	_, e := router(b, versions[0])
	a, c := client(b, e), client(b, e)
	far := start(b, versions[0], fmt.Sprintf("{mode: 'client', connect: {endpoints: [%q]}, %s, transport: {shared_memory: {enabled: false}}}", e, quiet))
	near := start(b, versions[0], fmt.Sprintf("{mode: 'client', connect: {endpoints: [%q]}, %s, transport: {shared_memory: {enabled: false}}}", e, quiet))
	far.do(command{"op": "echo", "name": "m", "key": "mix/ping", "to": "mix/pong"}, "declared")
	far.do(command{"op": "echo", "name": "e", "key": "ref/ping", "to": "ref/pong"}, "declared")

	block := zenoh.QoS{Congestion: zenoh.CongestionBlock, Express: true}
	pong, err := c.Publisher("our/pong", &zenoh.PublisherOptions{QoS: block})
	if err != nil {
		b.Fatal(err)
	}
	_, err = c.Subscribe("our/ping", &zenoh.SubscriberOptions{Handler: zenoh.Handler[zenoh.Sample]{Callback: func(v zenoh.Sample) {
		if err := pong.Put(context.Background(), v.Payload, &zenoh.PutOptions{Release: v.Release}); err != nil {
			b.Error(err)
		}
	}}})
	if err != nil {
		b.Fatal(err)
	}
	pinger := func(to string) func(payload []byte) time.Duration {
		p, err := a.Publisher(to+"/ping", &zenoh.PublisherOptions{QoS: block})
		if err != nil {
			b.Fatal(err)
		}
		sub, err := a.Subscribe(to+"/pong", nil)
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
	ours, mixed := pinger("our"), pinger("mix")
	round(b, a)
	round(b, c)
	near.do(command{"op": "pinger", "name": "p", "to": "ref/ping", "key": "ref/pong"}, "declared")
	for _, size := range speedSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			payload := noise(size)
			ours(payload)
			mixed(payload)
			var our, mix, ref []float64
			for b.Loop() {
				our = append(our, float64(ours(payload).Microseconds()))
				mix = append(mix, float64(mixed(payload).Microseconds()))
				e := near.do(command{"op": "ping", "name": "p", "size": size}, "ping")
				ref = append(ref, e.Micros)
			}
			b.ReportMetric(middle(our), "ours-µs")
			b.ReportMetric(middle(mix), "ours-reference-µs")
			b.ReportMetric(middle(ref), "reference-µs")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func middle(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// BenchmarkThroughRouter measures how much arrives through a real router:
// between sessions of ours, and between nodes of the reference.
func BenchmarkThroughRouter(b *testing.B) {
	_, e := router(b, versions[0])
	a, c := client(b, e), client(b, e)
	conf := fmt.Sprintf("{mode: 'client', connect: {endpoints: [%q]}, %s, transport: {shared_memory: {enabled: false}}}", e, quiet)
	from, to := start(b, versions[0], conf), start(b, versions[0], conf)
	p, err := a.Publisher("our/thr", &zenoh.PublisherOptions{QoS: zenoh.QoS{Congestion: zenoh.CongestionBlock}})
	if err != nil {
		b.Fatal(err)
	}
	arrived := make(chan struct{}, 1)
	left := 0
	_, err = c.Subscribe("our/thr", &zenoh.SubscriberOptions{Handler: zenoh.Handler[zenoh.Sample]{Callback: func(v zenoh.Sample) {
		v.Release()
		if left--; left == 0 {
			arrived <- struct{}{}
		}
	}}})
	if err != nil {
		b.Fatal(err)
	}
	to.do(command{"op": "count", "name": "c", "key": "ref/thr"}, "declared")
	round(b, c)
	round(b, a)
	for _, size := range speedSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			payload := noise(size)
			n := max(min(64<<20/size, 50_000), 4)
			o := &zenoh.PutOptions{Release: func() {}}
			var our, ref []float64
			for b.Loop() {
				left = n
				start := time.Now()
				for range n {
					if err := p.Put(context.Background(), payload, o); err != nil {
						b.Fatal(err)
					}
				}
				<-arrived
				our = append(our, float64(n)/time.Since(start).Seconds())
				to.do(command{"op": "await", "count": n}, "armed")
				from.tell(command{"op": "put", "key": "ref/thr", "size": size, "times": n, "congestion": "BLOCK"})
				ref = append(ref, float64(n)*1e6/to.want("counted").Micros)
				from.want("put")
			}
			b.ReportMetric(middle(our), "ours-msg/s")
			b.ReportMetric(middle(ref), "reference-msg/s")
			b.ReportMetric(middle(our)*float64(size)/1e6, "ours-MB/s")
			b.ReportMetric(middle(ref)*float64(size)/1e6, "reference-MB/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}
