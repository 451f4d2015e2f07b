// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"testing"

	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

var sizes = []int{8, 1 << 10, 64 << 10, 1 << 20, 6_220_800, 40_000_000}

// BenchmarkSend sends samples out of the caller's memory to a node that reads
// and throws away, beside BenchmarkPlainSocket. CAMD_NOT_SENT sets
// TCP_NOTSENT_LOWAT.
func BenchmarkSend(b *testing.B) {
	lowat, _ := strconv.Atoi(os.Getenv("CAMD_NOT_SENT"))
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l, err := fakenode.Listen()
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			go func() {
				n, err := l.Accept()
				if err != nil {
					return
				}
				drain(n)
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
			payload := make([]byte, size)
			key, bg := []byte("bench/key"), context.Background()
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				m := t.Get()
				m.Priority, m.Reliable, m.Congestion, m.Payload = 5, true, Block, payload
				push := wire.Push{Key: wire.WireExpr{Suffix: key, Sender: true}, QoS: wire.QoSDefault | wire.QoSBlock, Data: wire.Data{Payload: payload}}
				m.Head = push.AppendHead(m.Head[:0])
				if err := t.Send(bg, m); err != nil {
					b.Fatal(err)
				}
			}
			if err := t.Close(ctx(b)); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func drain(r io.ReadCloser) {
	buf := make([]byte, 1<<20)
	for {
		if _, err := r.Read(buf); err != nil {
			_ = r.Close()
			return
		}
	}
}

// BenchmarkPlainSocket is the floor: the same slices, 64 KB and a head each,
// in one writev a sample.
func BenchmarkPlainSocket(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			go func() {
				if c, err := l.Accept(); err == nil {
					drain(c)
				}
			}()
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			payload, head := make([]byte, size), make([]byte, 12)
			var all net.Buffers
			b.SetBytes(int64(size))
			for b.Loop() {
				all = all[:0]
				for o := 0; o < size; o += 65460 {
					all = append(all, head, payload[o:min(o+65460, size)])
				}
				v := all
				if _, err := v.WriteTo(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
