// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// Buffer is memory that several users share and the last one gives back.
// Whoever forgets to give it back costs an allocation, nothing else.
type Buffer struct {
	B    []byte
	refs atomic.Int32
	pool *Pool
}

// Retain adds a user.
func (b *Buffer) Retain() { b.refs.Add(1) }

// Release takes a user away. The last one gives the memory back.
func (b *Buffer) Release() {
	if b.refs.Add(-1) == 0 {
		b.pool.put(b)
	}
}

const (
	minClass = 9 // 512 bytes
	classes  = 20
)

// Large buffers are kept through garbage collections, up to maxKeptBytes and at
// least one: to get them anew costs more than to fill them.
const (
	largeClass   = 17 - minClass // 128 KB
	maxKeptBytes = 64 << 20
)

// Pool hands out memory in sizes of powers of two. The zero value is ready.
type Pool struct {
	free [classes]sync.Pool

	mu    sync.Mutex
	large [classes][]*Buffer
	kept  int // bytes in large
}

// Get returns an empty buffer with room for n bytes and one user.
func (p *Pool) Get(n int) *Buffer {
	c := max(bits.Len(uint(max(n, 1)-1)), minClass) - minClass
	var b *Buffer
	switch {
	case c >= classes:
		b = &Buffer{B: make([]byte, 0, n), pool: p}
	case c >= largeClass:
		b = p.takeLarge(c)
	default:
		b, _ = p.free[c].Get().(*Buffer)
	}
	if b == nil {
		b = &Buffer{B: make([]byte, 0, 1<<(c+minClass)), pool: p}
	}
	b.B = b.B[:0]
	b.refs.Store(1)
	return b
}

func (p *Pool) takeLarge(c int) *Buffer {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.large[c])
	if n == 0 {
		return nil
	}
	b := p.large[c][n-1]
	p.large[c][n-1] = nil
	p.large[c] = p.large[c][:n-1]
	p.kept -= cap(b.B)
	return b
}

func (p *Pool) put(b *Buffer) {
	n := cap(b.B)
	c := bits.Len(uint(n)) - 1 - minClass
	if c < 0 || c >= classes || n != 1<<(c+minClass) {
		return
	}
	if c < largeClass {
		p.free[c].Put(b)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == 0 || p.kept+n <= maxKeptBytes {
		p.large[c] = append(p.large[c], b)
		p.kept += n
	}
}

// Grow returns a buffer with the content of b and room for n bytes, and
// releases b.
func (p *Pool) Grow(b *Buffer, n int) *Buffer {
	g := p.Get(n)
	g.B = append(g.B, b.B...)
	b.Release()
	return g
}
