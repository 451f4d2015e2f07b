// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// stream gives bytes in pieces of the sizes in cuts, again and again.
type stream struct {
	b    []byte
	cuts []int
	at   int
	vec  bool
}

func (s *stream) next(room int) []byte {
	n := min(len(s.b), room, s.cuts[s.at%len(s.cuts)])
	s.at++
	b := s.b[:n]
	s.b = s.b[n:]
	return b
}

func (s *stream) Read(b []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	return copy(b, s.next(len(b))), nil
}

func (s *stream) ReadVec(bufs [][]byte) (n int, err error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	room := 0
	for _, b := range bufs {
		room += len(b)
	}
	from := s.next(room)
	for _, b := range bufs {
		k := copy(b, from[n:])
		n += k
	}
	return n, nil
}

func (s *stream) CanReadVec() bool                { return s.vec }
func (s *stream) SetReadDeadline(time.Time) error { return nil }

// log notes what arrives.
type log struct{ got []string }

func (l *log) HandleMessage(m *wire.Message, in Arrival, buf *Buffer) {
	l.got = append(l.got, fmt.Sprintf("%v %v %d %08x %v", m.ID, in, len(m.Push.Data.Payload), crc32.ChecksumIEEE(m.Push.Data.Payload), buf != nil))
}

// taken runs a reader over bytes and tells all that came of it.
func taken(b []byte, cuts []int, vec bool, batch, most int) (got []string, inPlace bool) {
	t := &Transport{p: Defaults(), pool: new(Pool)}
	t.p.MaxMessage = most
	t.s = session{batch: batch, mask: wire.SNMask(wire.DefaultResolution), qos: true, patch: true, remoteSN: 100}
	h := new(log)
	r := newReader(t, &stream{b: b, cuts: cuts, vec: vec}, h)
	err := r.run()
	held := 0
	for _, ls := range r.lanes {
		for _, l := range ls {
			if l.buf != nil {
				held += len(l.buf.B)
			}
		}
	}
	s := t.Stats()
	h.got = append(h.got, fmt.Sprintf("%v, %d held, %d batches, %d stale, %d incomplete", err, r.held, s.BatchesIn, s.Stale, s.Incomplete))
	if held != r.held {
		h.got = append(h.got, fmt.Sprintf("%d bytes are held, %d counted", held, r.held))
	}
	if r.end(); r.held != 0 || r.room != 0 {
		h.got = append(h.got, fmt.Sprintf("%d bytes are held in %d at the end", r.held, r.room))
	}
	return h.got, len(r.ahead.pieces) > 0
}

// sender makes a stream of samples.
type sender struct {
	b  []byte
	sn [8]uint64
}

func (s *sender) frame(prio uint8, f wire.Frame, body []byte) {
	f.Priority, f.SN, f.Reliable = prio, 100+s.sn[prio], true
	s.sn[prio]++
	from := len(s.b)
	s.b = f.Append(append(s.b, 0, 0))
	s.b = append(s.b, body...)
	binary.LittleEndian.PutUint16(s.b[from:], uint16(len(s.b)-from-2))
}

// sample sends one in fragments that fill batches; between may send others.
func (s *sender) sample(prio uint8, payload []byte, batch int, between func(i int)) {
	m := push("k", payload).Append(nil)
	for i := 0; len(m) > 0; i++ {
		if between != nil && i > 0 {
			between(i)
		}
		f := wire.Frame{Fragment: true, First: i == 0, Priority: prio, SN: 100 + s.sn[prio]}
		n := min(batch-2-len(f.Append(nil)), len(m))
		f.More = n < len(m)
		s.frame(prio, f, m[:n])
		m = m[n:]
	}
}

// Large messages that are read in place come out as those that are copied
// together, whatever comes between them and however the bytes arrive.
func TestReadInPlaceAsCopied(t *testing.T) {
	urgent := push("u", []byte("urgent")).Append(nil)
	rng := rand.New(rand.NewPCG(1, 2))
	payload := noise(3 << 20)
	for name, make := range map[string]func(s *sender){
		"equal": func(s *sender) {
			for range 6 {
				s.sample(5, payload[:1<<20], 65535, nil)
			}
		},
		"growing and shrinking": func(s *sender) {
			for _, n := range []int{400_000, 2_000_000, 300_000, 3 << 20, 65_000, 1_000_000, 999_999} {
				s.sample(5, payload[:n], 65535, nil)
			}
		},
		"ends with a full fragment": func(s *sender) {
			for _, n := range []int{800_000, 65_530*6 - 8, 65_530 * 6, 65_530*6 - 1, 65_530*6 - 12} {
				s.sample(5, payload[:n], 65535, nil)
				s.sample(5, payload[:n], 65535, nil)
			}
		},
		"urgent ones between": func(s *sender) {
			for range 4 {
				s.sample(5, payload[:2<<20], 65535, func(i int) {
					if i%7 == 3 {
						s.frame(1, wire.Frame{}, urgent)
					}
				})
			}
		},
		"two lanes in turn": func(s *sender) {
			for range 2 {
				s.sample(6, payload[:2<<20], 65535, func(i int) {
					if i == 5 {
						s.sample(4, payload[:1<<20], 65535, nil)
					}
				})
			}
		},
		"a piece is missing": func(s *sender) {
			for range 3 {
				s.sample(5, payload[:2<<20], 65535, func(i int) {
					if i == 20 {
						s.sn[5]++
					}
				})
				s.sample(5, payload[:2<<20], 65535, nil)
			}
		},
		"smaller pieces": func(s *sender) {
			for range 3 {
				s.sample(5, payload[:1<<20], 8192, nil)
			}
		},
		"too large": func(s *sender) {
			s.sample(5, payload[:1<<20], 65535, nil)
			s.sample(5, payload, 65535, nil)
			s.sample(5, payload[:1<<20], 65535, nil)
		},
		"keep-alives and the end": func(s *sender) {
			s.sample(5, payload[:1<<20], 65535, func(int) { s.b = append(s.b, 1, 0, wire.IDKeepAlive) })
			s.sample(5, payload[:1<<20], 65535, nil)
			s.b = append(s.b, 2, 0, wire.IDClose, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s sender
			make(&s)
			want, _ := taken(s.b, []int{1 << 30}, false, 65535, 5<<19)
			if len(want) < 3 {
				t.Fatalf("nothing arrived: %v", want)
			}
			used := false
			for range 20 {
				cuts := []int{1 << 30}
				for range rng.IntN(6) {
					cuts = append(cuts, 1+rng.IntN(1<<rng.IntN(21)))
				}
				got, inPlace := taken(s.b, cuts, true, 65535, 5<<19)
				used = used || inPlace
				if !slices.Equal(got, want) {
					t.Fatalf("with cuts %v:\n%q\nwant\n%q", cuts, got, want)
				}
			}
			if !used {
				t.Error("nothing was read in place")
			}
		})
	}
}

// meter notes what was allocated between the third sample and the last.
type meter struct {
	n           int
	first, last uint64
}

func (m *meter) HandleMessage(*wire.Message, Arrival, *Buffer) {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	if m.n++; m.n == 3 {
		m.first = s.Mallocs
	}
	m.last = s.Mallocs
}

// Large samples take one read each and no new memory.
func TestReadInPlaceCosts(t *testing.T) {
	const n = 30
	payload := noise(1<<20 - 100)
	var s sender
	for range n {
		s.sample(5, payload, 65535, nil)
	}
	tr := &Transport{p: Defaults(), pool: new(Pool)}
	tr.s = session{batch: 65535, mask: wire.SNMask(wire.DefaultResolution), qos: true, patch: true, remoteSN: 100}
	m := new(meter)
	_ = newReader(tr, &stream{b: s.b, cuts: []int{1 << 30}, vec: true}, m).run()
	if m.n != n {
		t.Fatalf("%d samples arrived of %d", m.n, n)
	}
	if made := m.last - m.first; made > n/2 { // the run time allocates a little
		t.Errorf("%d allocations for %d samples", made, n-3)
	}
	if got := tr.Stats().Reads; got > n+8 {
		t.Errorf("%d reads for %d samples", got, n)
	}
}

// FuzzReadInPlace holds that any bytes, in any pieces, come to the same in
// place and copied.
func FuzzReadInPlace(f *testing.F) {
	f.Add([]byte{}, []byte{200, 3, 255}, uint32(0), byte(0))
	f.Add([]byte{1, 0, wire.IDKeepAlive}, []byte{255}, uint32(700_000), byte(2))
	f.Add([]byte{0x40, 0xFF}, []byte{1, 255, 90}, uint32(131_077), byte(1))
	payload := noise(600_000)
	var s sender
	for range 3 {
		s.sample(5, payload, 65535, nil)
	}
	f.Fuzz(func(t *testing.T, patch, cut []byte, at uint32, how byte) {
		b := slices.Clone(s.b)
		i := int(at) % len(b)
		switch how % 3 {
		case 0: // changed
			copy(b[i:], patch)
		case 1: // more
			b = slices.Insert(b, i, patch...)
		case 2: // less
			b = slices.Delete(b, i, min(i+len(patch), len(b)))
		}
		cuts := []int{1 << 20}
		for _, c := range cut {
			cuts = append(cuts, 1<<(c%21)+int(c))
		}
		want, _ := taken(b, cuts, false, 65535, 1<<20)
		got, _ := taken(b, cuts, true, 65535, 1<<20)
		if !slices.Equal(got, want) {
			t.Fatalf("in place:\n%q\ncopied:\n%q", got, want)
		}
	})
}
