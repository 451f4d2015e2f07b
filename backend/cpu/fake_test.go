// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/ring"
	"github.com/seed-3c7e7623/camd/ros2/graph"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeSession keeps what is declared, and hands on what is put.
type fakeSession struct {
	down atomic.Bool

	mu         sync.Mutex
	log        []string // tokens and keys as they come and go
	publishers map[string]*fakePublisher
}

func (s *fakeSession) ZID() string     { return "aac3178e146ba6f1fc6e6a4085e77f21" }
func (s *fakeSession) Connected() bool { return !s.down.Load() }

type fakeToken struct {
	s   *fakeSession
	key string
}

func (s *fakeSession) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *fakeSession) Token(key string) (Closer, error) {
	s.note("token %s", key)
	return &fakeToken{s, key}, nil
}

func (k *fakeToken) Close() error {
	k.s.note("no token %s", k.key)
	return nil
}

func (s *fakeSession) Publish(key string, o PublishOptions) (Publisher, error) {
	s.note("publish %s", key)
	p := &fakePublisher{s: s, key: key, o: o, puts: make(chan sample, 64)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.publishers == nil {
		s.publishers = make(map[string]*fakePublisher)
	}
	s.publishers[key] = p
	return p, nil
}

// publisher is that of a topic, nil if there is none.
func (s *fakeSession) publisher(topic string) *fakePublisher {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, p := range s.publishers {
		if k, err := graph.ParseKey(key); err == nil && k.Topic == topic {
			return p
		}
	}
	return nil
}

// sample is a put: its value, a copy, and what tells the sender.
type sample struct {
	value, attachment []byte
	payload           []byte // as it was given
	done              func(sent bool)
}

type fakePublisher struct {
	s    *fakeSession
	key  string
	o    PublishOptions
	puts chan sample
	// slow leaves it to the test to call done.
	slow    atomic.Bool
	silent  atomic.Bool // keeps nothing: for tests of allocations
	matched atomic.Bool
	forgot  atomic.Int32
}

func (p *fakePublisher) Detach([]byte) int { return 0 }

func (p *fakePublisher) Forget() { p.forgot.Add(1) }

func (p *fakePublisher) match(yes bool) {
	p.matched.Store(yes)
	p.o.OnMatching(yes)
}

func (p *fakePublisher) Matching() bool { return p.matched.Load() }

func (p *fakePublisher) Close() error {
	p.s.note("unpublish %s", p.key)
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	delete(p.s.publishers, p.key)
	return nil
}

var errFull = errors.New("nobody takes the puts of the test")

func (p *fakePublisher) Put(o Put) error {
	if !p.silent.Load() {
		v := sample{
			value: append(bytes.Clone(o.Prefix), o.Payload...), attachment: bytes.Clone(o.Attachment),
			payload: o.Payload, done: o.Done,
		}
		select {
		case p.puts <- v:
		default:
			if o.Done != nil {
				o.Done(false)
			}
			return errFull
		}
	}
	if o.Done != nil && !p.slow.Load() {
		o.Done(true)
	}
	return nil
}

// rig is a backend over a fake session, with a ring to publish in.
type rig struct {
	*Backend
	t       testing.TB
	session *fakeSession
	link    *Link
	ring    *ring.Ring
	clock   atomic.Int64
	gen     atomic.Uint64
	epochs  uint64
	seq     uint64
	tight   bool
}

const testTopic = "/front/color/image_raw"

func newRig(t testing.TB, change func(*Options)) *rig {
	t.Helper()
	s := &fakeSession{}
	rg := newRigIn(t, s, change)
	rg.session = s
	return rg
}

// newRigIn is a rig over another session.
func newRigIn(t testing.TB, s Session, change func(*Options)) *rig {
	t.Helper()
	rg := &rig{t: t, session: &fakeSession{}, link: &Link{}}
	rg.clock.Store(int64(time.Hour))
	o := Options{
		Stream: "front/color", Camera: "front", Topic: testTopic, QoS: graph.SensorData(), FrameID: "front_optical_frame",
		Quality: 90, HoldFor: 4 * time.Second, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	rg.link.Open(s)
	rg.Backend = New(o, rg.link)
	t.Cleanup(func() {
		rg.Close()
		if rg.ring != nil {
			rg.ring.Retire()
		}
	})
	return rg
}

// open gives the stream a ring for frames of g.
func (rg *rig) open(g frame.Geometry) {
	rg.t.Helper()
	old := rg.ring
	rg.epochs++
	var err error
	rg.ring, err = ring.New(ring.Config{
		Name: "front/color", Epoch: rg.epochs, Geometry: g, Slots: ring.SlotsFor(1, 1, 1) + Credit, MaxReaders: 1,
		Generation: &rg.gen, Now: rg.clock.Load, EvictAfter: 4 * time.Second,
	})
	if err != nil {
		rg.t.Fatal(err)
	}
	if old != nil {
		old.Retire()
	}
	rg.SetRing(rg.ring, frame.Color{}, rg.tight)
}

// publish puts a frame into the ring and returns its stamp, CLOCK_REALTIME ns.
func (rg *rig) publish(data []byte) int64 {
	rg.t.Helper()
	slot, err := rg.ring.Acquire()
	if err != nil {
		rg.t.Fatal(err)
	}
	rg.seq++
	wall := 1_700_000_000_123_456_789 + int64(rg.seq)*33_333_333
	n := copy(rg.ring.Data(slot), data)
	rg.ring.Publish(slot, &frame.Meta{Sequence: rg.seq, CaptureNanos: int64(rg.seq) * 33_333_333, WallNanos: wall, Bytes: n})
	return wall
}

// topic waits until the topic is declared and somebody subscribes to it.
func (rg *rig) topic(name string) *fakePublisher {
	rg.t.Helper()
	var p *fakePublisher
	rg.until(name+" is published", func() bool {
		p = rg.session.publisher(name)
		// The session has it a moment before the backend does.
		return p != nil && slices.ContainsFunc(rg.Topics(), func(s TopicStatus) bool { return s.Topic == name })
	})
	p.match(true)
	return p
}

// until polls what another goroutine does.
func (rg *rig) until(what string, ok func() bool) {
	rg.t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			rg.t.Fatalf("waited for: %s; status %+v; declared:\n%s", what, rg.Topics(), strings.Join(rg.session.log, "\n"))
		}
	}
}

func (rg *rig) next(p *fakePublisher) sample {
	rg.t.Helper()
	select {
	case s := <-p.puts:
		return s
	case <-time.After(10 * time.Second):
		rg.t.Fatalf("nothing was put on %s; status %+v", p.key, rg.Topics())
		return sample{}
	}
}

func (rg *rig) status(topic string) TopicStatus {
	for _, s := range rg.Topics() {
		if s.Topic == topic {
			return s
		}
	}
	rg.t.Fatalf("no topic %s", topic)
	return TopicStatus{}
}

func geometry(t testing.TB, e frame.Encoding, w, h, padding int) frame.Geometry {
	t.Helper()
	g, err := frame.NewGeometry(e, w, h)
	if err != nil {
		t.Fatal(err)
	}
	g.Step += padding
	return g
}

// noise is a frame whose bytes are all different from their neighbours.
func noise(g frame.Geometry) []byte {
	b := make([]byte, g.Size())
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}
