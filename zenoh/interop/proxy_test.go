// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between a session of ours and a node, and changes what passes.
type proxy struct {
	l      net.Listener
	target string
	// change, when set, makes of a batch what goes on in its place, each with
	// its length. toUs says which way it goes, i counts those of a connection.
	change  atomic.Pointer[func(r *rand.Rand, b []byte, toUs bool, i int) []byte]
	changed atomic.Uint64

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	ended bool
	all   sync.WaitGroup
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, target: target, conns: map[net.Conn]struct{}{}}
	p.all.Add(1)
	go p.accept()
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		p.ended = true
		p.mu.Unlock()
		p.cut()
		p.all.Wait()
	})
	return p
}

func (p *proxy) endpoint() string { return "tcp/" + p.l.Addr().String() }

// cut ends the connections that there are.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

func (p *proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		_ = c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *proxy) accept() {
	defer p.all.Done()
	for seed := uint64(0); ; seed++ {
		us, err := p.l.Accept()
		if err != nil {
			return
		}
		node, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = us.Close()
			continue
		}
		if !p.keep(us) || !p.keep(node) {
			return
		}
		p.all.Add(2)
		go p.pass(us, node, false, rand.New(rand.NewPCG(seed, 1)))
		go p.pass(node, us, true, rand.New(rand.NewPCG(seed, 2)))
	}
}

// pass hands batches on until one of both sides has ended.
func (p *proxy) pass(from, to net.Conn, toUs bool, r *rand.Rand) {
	defer p.all.Done()
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 2+65535)
	for i := 0; ; i++ {
		if _, err := io.ReadFull(from, buf[:2]); err != nil {
			return
		}
		n := int(binary.LittleEndian.Uint16(buf))
		if _, err := io.ReadFull(from, buf[2:2+n]); err != nil {
			return
		}
		out := buf[: 2+n : 2+n]
		if f := p.change.Load(); f != nil {
			out = (*f)(r, out, toUs, i)
		}
		if _, err := to.Write(out); err != nil {
			return
		}
	}
}

// mutate changes one batch in sixteen: bits, bytes, its length, its end, or it
// comes twice or with another in front.
func (p *proxy) mutate(toNode bool) func(r *rand.Rand, b []byte, us bool, i int) []byte {
	return func(r *rand.Rand, b []byte, us bool, i int) []byte {
		if !us && !toNode || r.IntN(16) != 0 || i < 2 && r.IntN(4) != 0 {
			return b
		}
		p.changed.Add(1)
		b = append([]byte(nil), b...)
		body := b[2:]
		if len(body) == 0 {
			return b
		}
		at := r.IntN(min(len(body), 64)) // where the heads are
		if r.IntN(4) == 0 {
			at = r.IntN(len(body))
		}
		switch r.IntN(8) {
		case 0:
			binary.LittleEndian.PutUint16(b, uint16(r.Uint32()))
		case 1:
			b = b[:2+r.IntN(len(body))]
			binary.LittleEndian.PutUint16(b, uint16(len(b)-2))
		case 2:
			b = append(b, b...)
		case 3:
			body[at] = byte(r.Uint32())
		case 4:
			body[at] = 0xFF
		default:
			body[at] ^= 1 << r.IntN(8)
		}
		return b
	}
}
