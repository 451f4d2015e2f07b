// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import "testing"

// A buffer has room, and not a quarter more than was asked for where that is
// much.
func TestRoomOfBuffers(t *testing.T) {
	var p Pool
	for _, n := range []int{0, 1, 512, 513, 65_537, 128 << 10, 128<<10 + 1, 200_000, 6_220_800, 40_000_000} {
		b := p.Get(n)
		c := cap(b.B)
		if c < n || len(b.B) != 0 || n > 128<<10 && c > n+n/4 {
			t.Errorf("for %d bytes: %d of %d", n, len(b.B), c)
		}
		b.Release()
	}
}

// What comes back is used again, also a large one that grew out of small ones:
// those must not take its place.
func TestLargeBuffersAreUsedAgain(t *testing.T) {
	var p Pool
	b := p.Get(256 << 10)
	for size := 512 << 10; size <= 64<<20; size *= 2 {
		b.B = b.B[:cap(b.B)]
		b = p.Grow(b, size)
	}
	other := p.Get(60 << 20)
	b.Release()
	other.Release()
	if p.Get(60<<20) != other || p.Get(40<<20) != b {
		t.Error("buffers of 64 MB that came back are not used again")
	}
	if p.kept != 0 || len(p.large) != 0 {
		t.Errorf("%d bytes in %d buffers are kept, when 2 large ones came back last", p.kept, len(p.large))
	}
}

func TestKeptMemoryIsBounded(t *testing.T) {
	var p Pool
	var out []*Buffer
	for range 100 {
		out = append(out, p.Get(1<<20), p.Get(200<<10))
	}
	out = append(out, p.Get(maxKeptBuffer+1))
	for _, b := range out {
		b.Release()
	}
	if p.kept > maxKeptBytes || len(p.large) > maxKeptCount {
		t.Errorf("%d bytes in %d buffers are kept", p.kept, len(p.large))
	}
	if b := p.Get(130 << 10); cap(b.B) > 2*130<<10 {
		t.Errorf("%d bytes for 130 KB", cap(b.B))
	}
}

// What was large once and is not needed any more is let go.
func TestUnusedMemoryIsLetGo(t *testing.T) {
	var p Pool
	once, often := p.Get(200<<20), p.Get(6<<20)
	once.Release()
	often.Release()
	for i := range 4 {
		p.sweep()
		if b := p.Get(6 << 20); b != often {
			t.Fatalf("after %d sweeps a buffer that is in use is made anew", i+1)
		}
		often.Release()
		if i > 0 && p.kept != cap(often.B) {
			t.Errorf("after %d sweeps %d bytes are kept, with %d in use", i+1, p.kept, cap(often.B))
		}
	}
	p.sweep()
	p.sweep()
	if p.kept != 0 || len(p.large) != 0 || p.armed {
		t.Errorf("%d bytes in %d buffers are kept for nobody", p.kept, len(p.large))
	}
	p.Get(3 << 20).Release()
	if p.Empty(); p.kept != 0 || len(p.large) != 0 {
		t.Errorf("%d bytes are kept after all were let go", p.kept)
	}
	if big := p.Get(200 << 20); big == once {
		t.Error("a buffer that was let go is used again")
	}
}
