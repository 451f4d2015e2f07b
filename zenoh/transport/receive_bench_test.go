// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// BenchmarkReceiveBesidePlainSocket writes the same bytes, fragments of 64 KB
// with one writev a sample, to a transport that puts samples together and
// hands them over in one piece, and in turn to two plain sockets: one reads 1
// MiB at a time and throws it away, one reads 1 MiB at a time into memory as
// large as a sample. It reports medians of the ratios and CPU seconds a GB of
// the whole process.
func BenchmarkReceiveBesidePlainSocket(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			payload := noise(size)
			sides := []func(n int){toOurs(b, payload), toPlain(b, payload, 1<<20), toPlain(b, payload, max(size, 1<<20))}
			n := max(min(64<<20/size, 20_000), 2)
			gb := float64(n) * float64(size) / 1e9
			var toss, keep, mbs, cpus, tossCPUs, keepCPUs []float64
			for _, f := range sides {
				f(n)
			}
			for i := 0; b.Loop(); i++ {
				var wall, cpu [3]time.Duration
				for j := range sides {
					k := (i + j) % len(sides)
					wall[k], cpu[k] = timed(sides[k], n)
				}
				toss = append(toss, wall[1].Seconds()/wall[0].Seconds())
				keep = append(keep, wall[2].Seconds()/wall[0].Seconds())
				mbs = append(mbs, 1000*gb/wall[0].Seconds())
				cpus = append(cpus, cpu[0].Seconds()/gb)
				tossCPUs = append(tossCPUs, cpu[1].Seconds()/gb)
				keepCPUs = append(keepCPUs, cpu[2].Seconds()/gb)
			}
			b.ReportMetric(median(toss), "x-discarding")
			b.ReportMetric(median(keep), "x-keeping")
			b.ReportMetric(median(mbs), "MB/s")
			b.ReportMetric(median(cpus), "cpu-s/GB")
			b.ReportMetric(median(tossCPUs), "discarding-cpu-s/GB")
			b.ReportMetric(median(keepCPUs), "keeping-cpu-s/GB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// fragments writes samples as a node does.
type fragments struct {
	to            net.Conn
	head, payload []byte
	sn, mask      uint64
	scratch       []byte
	bufs          net.Buffers
	bytes         int64 // written
}

func newFragments(to net.Conn, payload []byte) *fragments {
	p := wire.Push{Key: wire.WireExpr{Suffix: []byte("bench/key"), Sender: true}, QoS: wire.QoSDefault | wire.QoSBlock, Data: wire.Data{Payload: payload}}
	return &fragments{to: to, head: p.AppendHead(nil), payload: payload, sn: 7, mask: wire.SNMask(wire.DefaultResolution)}
}

func (w *fragments) write(b *testing.B) {
	const room = 65450
	size := len(w.head) + len(w.payload)
	if need := (size/room + 1) * 16; cap(w.scratch) < need {
		w.scratch = make([]byte, 0, need)
	}
	w.bufs, w.scratch = w.bufs[:0], w.scratch[:0]
	for off := 0; off < size; {
		n := min(room, size-off)
		from := len(w.scratch)
		w.scratch = append(w.scratch, 0, 0)
		f := wire.Frame{Fragment: size > room, Reliable: true, SN: w.sn, Priority: 5, First: off == 0, More: off+n < size}
		if !f.Fragment {
			f.First, f.More = false, false
		}
		w.scratch = f.Append(w.scratch)
		w.sn = (w.sn + 1) & w.mask
		binary.LittleEndian.PutUint16(w.scratch[from:], uint16(len(w.scratch)-from-2+n))
		w.bufs = append(w.bufs, w.scratch[from:len(w.scratch):len(w.scratch)])
		end := off + n - len(w.head)
		if off < len(w.head) {
			w.bufs = append(w.bufs, w.head)
			w.bufs = append(w.bufs, w.payload[:end])
		} else {
			w.bufs = append(w.bufs, w.payload[off-len(w.head):end])
		}
		off += n
	}
	v := w.bufs
	n, err := v.WriteTo(w.to)
	if err != nil {
		b.Fatal(err)
	}
	w.bytes += n
}

// counter counts samples.
type counter struct {
	sink
	size int
}

func (c *counter) HandleMessage(m *wire.Message, _ Arrival, _ *Buffer) {
	if m.ID == wire.IDPush && len(m.Push.Data.Payload) == c.size {
		c.add(1)
	}
}

func toOurs(b *testing.B, payload []byte) func(n int) {
	l, err := fakenode.Listen()
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan *fakenode.Node, 1)
	go func() {
		n, err := l.Accept()
		if err != nil {
			b.Error(err)
		}
		accepted <- n
	}()
	ep, err := link.ParseEndpoint(l.Endpoint())
	if err != nil {
		b.Fatal(err)
	}
	c, err := link.Dial(ctx(b), ep, &link.Options{NotSentBytes: 16 << 10})
	if err != nil {
		b.Fatal(err)
	}
	p := Defaults()
	p.ZID = wire.ZID{1}
	t, err := Open(ctx(b), c, p, new(Pool))
	if err != nil {
		b.Fatal(err)
	}
	node := <-accepted
	h := &counter{sink: sink{some: make(chan struct{}, 1)}, size: len(payload)}
	go func() { _ = t.Run(context.Background(), h) }()
	b.Cleanup(func() {
		_ = node.Close()
		_ = t.Close(ctx(b))
	})
	w := newFragments(node.Conn, payload)
	sent := int64(0)
	return func(n int) {
		for range n {
			w.write(b)
		}
		sent += int64(n)
		h.wait(sent)
	}
}

// toPlain reads into memory of room bytes again and again.
func toPlain(b *testing.B, payload []byte, room int) func(n int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	s := &sink{some: make(chan struct{}, 1)}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	a, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	go s.fill(c, make([]byte, room))
	b.Cleanup(func() { _ = a.Close() })
	w := newFragments(a, payload)
	return func(n int) {
		for range n {
			w.write(b)
		}
		s.wait(w.bytes)
	}
}

// fill reads 1 MiB at a time into buf, from its start again when it is full.
func (s *sink) fill(r io.ReadCloser, buf []byte) {
	for at := 0; ; {
		n, err := r.Read(buf[at:min(at+1<<20, len(buf))])
		s.add(int64(n))
		if err != nil {
			_ = r.Close()
			return
		}
		if at += n; at == len(buf) {
			at = 0
		}
	}
}
