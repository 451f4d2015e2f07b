// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

var sizes = []int{8, 1 << 10, 64 << 10, 1 << 20, 6_220_800, 40_000_000}

// BenchmarkBesidePlainSocket sends samples out of the caller's memory, and in
// turn the same slices (64 KB and a head each) through a plain socket with one
// writev a sample. Both are read with 1 MiB reads and thrown away. It reports
// the median of the ratios and CPU seconds a GB of the whole process, reader
// included. CAMD_NOT_SENT sets TCP_NOTSENT_LOWAT.
func BenchmarkBesidePlainSocket(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			payload := noise(size) // one for both: memory that was never written is all one page
			ours, plain := newOurs(b, payload), newPlain(b, payload)
			n := max(min(64<<20/size, 100_000), 2)
			var ratios, mbs, cpus, plainCPUs []float64
			ours(n)
			plain(n)
			for i := 0; b.Loop(); i++ {
				var o, p, co, cp time.Duration
				if i%2 == 0 {
					o, co = timed(ours, n)
					p, cp = timed(plain, n)
				} else {
					p, cp = timed(plain, n)
					o, co = timed(ours, n)
				}
				gb := float64(n) * float64(size) / 1e9
				ratios = append(ratios, p.Seconds()/o.Seconds())
				mbs = append(mbs, 1000*gb/o.Seconds())
				cpus = append(cpus, co.Seconds()/gb)
				plainCPUs = append(plainCPUs, cp.Seconds()/gb)
			}
			b.ReportMetric(median(ratios), "x-plain")
			b.ReportMetric(median(mbs), "MB/s")
			b.ReportMetric(median(cpus), "cpu-s/GB")
			b.ReportMetric(median(plainCPUs), "plain-cpu-s/GB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func noise(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

func timed(f func(n int), n int) (wall, cpu time.Duration) {
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	from := time.Now()
	f(n)
	wall = time.Since(from)
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	used := func(r syscall.Rusage) time.Duration { return time.Duration(r.Utime.Nano() + r.Stime.Nano()) }
	return wall, used(after) - used(before)
}

// sink reads from a connection and tells how far it is.
type sink struct {
	seen atomic.Int64
	some chan struct{}
}

func (s *sink) add(n int64) {
	s.seen.Add(n)
	select {
	case s.some <- struct{}{}:
	default:
	}
}

// wait waits until so many bytes have been read.
func (s *sink) wait(bytes int64) {
	for s.seen.Load() < bytes {
		<-s.some
	}
}

func newOurs(b *testing.B, payload []byte) func(n int) {
	size := len(payload)
	lowat, _ := strconv.Atoi(os.Getenv("CAMD_NOT_SENT"))
	l, err := fakenode.Listen()
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	s := &sink{some: make(chan struct{}, 1)}
	go func() {
		if n, err := l.Accept(); err == nil {
			s.fill(n, make([]byte, 1<<20))
		}
	}()
	ep, err := link.ParseEndpoint(l.Endpoint())
	if err != nil {
		b.Fatal(err)
	}
	c, err := link.Dial(ctx(b), ep, &link.Options{NotSentBytes: lowat})
	if err != nil {
		b.Fatal(err)
	}
	p := Defaults()
	p.ZID = wire.ZID{1}
	t, err := Open(ctx(b), c, p, new(Pool))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = t.Close(ctx(b)) })
	key, bg := []byte("bench/key"), context.Background()
	var sent int64
	return func(n int) {
		for range n {
			m := t.Get()
			m.Priority, m.Reliable, m.Congestion, m.Payload = 5, true, Block, payload
			push := wire.Push{Key: wire.WireExpr{Suffix: key, Sender: true}, QoS: wire.QoSDefault | wire.QoSBlock, Data: wire.Data{Payload: payload}}
			m.Head = push.AppendHead(m.Head[:0])
			if err := t.Send(bg, m); err != nil {
				b.Fatal(err)
			}
		}
		sent += int64(n) * int64(size)
		s.wait(sent) // heads come on top
	}
}

func newPlain(b *testing.B, payload []byte) func(n int) {
	size := len(payload)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	s := &sink{some: make(chan struct{}, 1)}
	go func() {
		if c, err := l.Accept(); err == nil {
			s.fill(c, make([]byte, 1<<20))
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	head := make([]byte, 12)
	var all net.Buffers
	var sent int64
	return func(n int) {
		for range n {
			all = all[:0]
			for o := 0; o < size; o += 65460 {
				all = append(all, head, payload[o:min(o+65460, size)])
				sent += int64(len(head))
			}
			v := all
			if _, err := v.WriteTo(c); err != nil {
				b.Fatal(err)
			}
		}
		sent += int64(n) * int64(size)
		s.wait(sent)
	}
}
