// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Buffer is memory that several users share and the last one gives back.
// Whoever forgets to give it back costs an allocation, nothing else.
type Buffer struct {
	B    []byte
	refs atomic.Int32
	pool *Pool
	kept uint64 // the sweep before it came back
	gone func() // called when nobody uses it any more
}

// OnGone has f called once, when the last user has given the memory back.
func (b *Buffer) OnGone(f func()) { b.gone = f }

// Retain adds a user.
func (b *Buffer) Retain() { b.refs.Add(1) }

// Release takes a user away. The last one gives the memory back.
func (b *Buffer) Release() {
	if b.refs.Add(-1) > 0 {
		return
	}
	if f := b.gone; f != nil {
		b.gone = nil
		f()
	}
	b.pool.put(b)
}

const (
	minBits = 9  // 512 bytes, the smallest size
	midBits = 17 // sizes up to 128 KiB are powers of two
	classes = midBits - minBits + 1
)

// Large buffers are kept through garbage collections, because to get them anew
// costs more than to fill them: the ones that came back last, up to
// maxKeptBytes, or two of a larger size. What nobody took between two sweeps,
// sweepPeriod apart, goes.
const (
	maxKeptBytes  = 64 << 20
	maxKeptBuffer = 256 << 20
	maxKeptCount  = 64
	sweepPeriod   = 5 * time.Second
)

// Pool hands out memory. The zero value is ready.
type Pool struct {
	free [classes]sync.Pool

	mu    sync.Mutex
	large []*Buffer // the oldest first
	kept  int       // bytes in large

	sweeps  uint64      // so many have been
	sweeper *time.Timer // runs while something is kept
	armed   bool
}

// Get returns an empty buffer with room for n bytes and one user.
func (p *Pool) Get(n int) *Buffer {
	size := roomFor(n)
	var b *Buffer
	if size <= 1<<midBits {
		b, _ = p.free[bits.Len(uint(size))-1-minBits].Get().(*Buffer)
	} else {
		b = p.takeLarge(n)
	}
	if b == nil {
		b = &Buffer{B: make([]byte, 0, size), pool: p}
		if size > 1<<midBits {
			hugePages(b.B[:size])
		}
	}
	b.B = b.B[:0]
	b.refs.Store(1)
	return b
}

// roomFor is the capacity of a buffer for n bytes: a power of two, or where
// that is large, in quarters of one.
func roomFor(n int) int {
	b := bits.Len(uint(max(n, 1) - 1))
	if b <= midBits {
		return 1 << max(b, minBits)
	}
	quarter := 1 << (b - 3)
	return (n + quarter - 1) / quarter * quarter
}

// takeLarge returns the smallest buffer that has room, the newest of them; nil
// when there is none, or only much too large ones.
func (p *Pool) takeLarge(n int) *Buffer {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := -1
	for i, b := range p.large {
		if c := cap(b.B); c >= n && c/2 <= n && (best < 0 || c <= cap(p.large[best].B)) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	b := p.large[best]
	p.large = slices.Delete(p.large, best, best+1)
	p.kept -= cap(b.B)
	return b
}

func (p *Pool) put(b *Buffer) {
	n := cap(b.B)
	switch {
	case n < 1<<minBits || n != roomFor(n): // not ours any more
	case n <= 1<<midBits:
		p.free[bits.Len(uint(n))-1-minBits].Put(b)
	case n <= maxKeptBuffer:
		p.mu.Lock()
		defer p.mu.Unlock()
		b.kept = p.sweeps
		p.large = append(p.large, b)
		p.kept += n
		drop := 0
		for p.kept > max(maxKeptBytes, 2*n) || len(p.large)-drop > maxKeptCount {
			p.kept -= cap(p.large[drop].B)
			drop++
		}
		p.large = slices.Delete(p.large, 0, drop)
		p.arm()
	}
}

// arm sees to a sweep while something is kept, with the mutex held.
func (p *Pool) arm() {
	switch {
	case p.armed || len(p.large) == 0:
		return
	case p.sweeper == nil:
		p.sweeper = time.AfterFunc(sweepPeriod, p.sweep)
	default:
		p.sweeper.Reset(sweepPeriod)
	}
	p.armed = true
}

// Empty lets go of the large buffers that came back.
func (p *Pool) Empty() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.large, p.kept = nil, 0
}

// sweep lets go of the large buffers that came back before the last one.
func (p *Pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.large = slices.DeleteFunc(p.large, func(b *Buffer) bool {
		old := b.kept < p.sweeps
		if old {
			p.kept -= cap(b.B)
		}
		return old
	})
	p.sweeps++
	p.armed = false
	p.arm()
}

// Grow returns a buffer with the content of b and room for n bytes, and
// releases b.
func (p *Pool) Grow(b *Buffer, n int) *Buffer {
	g := p.Get(n)
	g.B = append(g.B, b.B...)
	b.Release()
	return g
}
