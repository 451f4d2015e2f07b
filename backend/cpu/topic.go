// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

// inFlight is how many messages of a topic are on their way at most: one that is
// being sent, one that waits, and one that takes its place.
const inFlight = 3

// Topic publishes messages of one type. Put may be called from any goroutine;
// on a topic of pictures, which are not copied, one goroutine sends.
type Topic struct {
	name     string
	typ      msg.Type
	endpoint *endpoint
	encoding string // of pictures, for status

	prefix     []byte // what the message has before its bytes; its stamp is set anew each time
	attachment []byte
	sequence   int64
	parcels    chan *parcel // that are not on their way
	all        [inFlight]*parcel
	puts       uint64      // so many were sent
	starved    atomic.Bool // a frame was left because of them
	wake       func()

	matched atomic.Bool
	counts  counts

	put   sync.Mutex // one puts
	stamp int64      // of the last message that two publish in turn
	by    *Backend   // that published it
}

type counts struct {
	frames, bytes, replaced, conversions, encoded, copies, skipped atomic.Uint64
}

// TopicStatus is a topic in the status document.
type TopicStatus struct {
	Topic    string `json:"topic"`
	Type     string `json:"type"`
	Encoding string `json:"encoding,omitempty"`
	QoS      string `json:"qos"`
	GID      string `json:"gid"`
	Matched  bool   `json:"matched"` // somebody subscribes
	Frames   uint64 `json:"frames"`  // given to the network
	Bytes    uint64 `json:"bytes"`   // of them
	// Replaced gave way to a newer one before the network took them.
	Replaced uint64 `json:"replaced,omitempty"`
	// Skipped were left out: above the rate, or they could not be encoded.
	Skipped     uint64 `json:"skipped,omitempty"`
	Conversions uint64 `json:"conversions,omitempty"`
	Encoded     uint64 `json:"encoded,omitempty"`
	// Copies is how often pixels were copied on the way from the ring to the
	// network.
	Copies  uint64 `json:"copies"`
	Problem string `json:"problem,omitempty"`
}

// offsets of the stamp in a message that begins with a header: after the four
// bytes that say how it is encoded.
const (
	stampSec     = 4
	stampNanosec = 8
)

func setStamp(b []byte, nanos int64) {
	t := msg.TimeOf(nanos)
	binary.LittleEndian.PutUint32(b[stampSec:], uint32(t.Sec))
	binary.LittleEndian.PutUint32(b[stampNanosec:], t.Nanosec)
}

// NewTopic declares a topic of a node. wake is called when somebody begins or
// ceases to subscribe, and when a message that was missed could go; it does not
// block.
func NewTopic(l *Link, node, name string, t msg.Type, q graph.QoS, wake func()) (*Topic, error) {
	out := &Topic{name: name, typ: t, wake: wake, parcels: make(chan *parcel, inFlight)}
	for i := range inFlight {
		p := &parcel{topic: out}
		p.done = p.finish
		out.all[i] = p
		out.parcels <- p
	}
	e, err := l.endpoint(node, name, t, q, func(matching bool) {
		out.matched.Store(matching)
		wake()
	})
	if err != nil {
		return nil, err
	}
	out.endpoint = e
	return out, nil
}

// Close takes the topic back. It never waits.
func (t *Topic) Close() {
	t.matched.Store(false)
	t.endpoint.close()
}

// Matched says whether anybody subscribes.
func (t *Topic) Matched() bool { return t.matched.Load() }

// next is the attachment of the next message.
func (t *Topic) next() []byte {
	t.sequence++
	a := graph.Attachment{Sequence: t.sequence, SourceNanos: linux.Realtime(), GID: t.endpoint.gid}
	t.attachment = a.Append(t.attachment[:0])
	return t.attachment
}

// Put sends a whole message, which is copied, if somebody subscribes. With all
// messages on their way it is left out, as [Topic.ready] says before.
func (t *Topic) Put(message []byte) {
	t.put.Lock()
	defer t.put.Unlock()
	t.copied(message)
}

// putInTurn is Put of a message that b or another one publishes, whoever is
// first: of two with one stamp the second is left out.
func (t *Topic) putInTurn(b *Backend, stamp int64, message []byte) {
	t.put.Lock()
	defer t.put.Unlock()
	if t.by != b && t.by != nil && t.stamp == stamp {
		return
	}
	t.by, t.stamp = b, stamp
	t.copied(message)
}

// copied sends a copy of a message. The mutex is held.
func (t *Topic) copied(message []byte) {
	if !t.matched.Load() {
		return // and nothing is to be kept for who comes later
	}
	select {
	case p := <-t.parcels:
		data := p.room(len(message))
		copy(data, message)
		t.send(p, data)
	default:
		t.counts.replaced.Add(1)
	}
}

// forget drops what is kept for late subscribers, if nobody subscribes: the
// frames that come now are not kept, and an old one is worse than none. Who
// subscribes gets what is newest then.
func (t *Topic) forget() {
	t.put.Lock()
	defer t.put.Unlock()
	if !t.matched.Load() {
		t.endpoint.publisher.Forget()
	}
}

// ready says whether a parcel is there. If not, wake is called when one is. No
// topic is always ready.
func (t *Topic) ready() bool {
	if t == nil || len(t.parcels) > 0 {
		return true
	}
	t.starved.Store(true)
	return len(t.parcels) > 0
}

// send sends the prefix and then payload, which p keeps until it is gone.
func (t *Topic) send(p *parcel, payload []byte) {
	p.bytes = len(t.prefix) + len(payload)
	t.puts++
	p.mu.Lock()
	p.payload, p.place, p.under = payload, t.puts, true
	p.mu.Unlock()
	// An error is the parcel's end as well, which finish counts.
	_ = t.endpoint.publisher.Put(Put{Prefix: t.prefix, Payload: payload, Attachment: t.next(), Done: p.done})
}

func (t *Topic) status() TopicStatus {
	c := &t.counts
	return TopicStatus{
		Topic: t.name, Type: t.typ.Name, Encoding: t.encoding, QoS: t.endpoint.entity.QoS.Describe(), GID: t.endpoint.gid.String(),
		Matched: t.matched.Load(), Frames: c.frames.Load(), Bytes: c.bytes.Load(), Replaced: c.replaced.Load(), Skipped: c.skipped.Load(),
		Conversions: c.conversions.Load(), Encoded: c.encoded.Load(), Copies: c.copies.Load(),
	}
}

// parcel is a message on its way: its bytes lie in the slot that hold keeps, or
// in memory of its own.
type parcel struct {
	topic *Topic
	own   []byte
	bytes int
	done  func(sent bool) // finish, made once

	mu      sync.Mutex
	hold    *hold
	payload []byte
	place   uint64 // in the order of the topic
	under   bool   // on its way
}

// room is memory of its own for n bytes.
func (p *parcel) room(n int) []byte {
	if cap(p.own) < n {
		p.own = make([]byte, n)
	}
	p.own = p.own[:n]
	return p.own
}

// finish is called when nobody needs the bytes any more, from any goroutine.
func (p *parcel) finish(sent bool) {
	t := p.topic
	if sent {
		t.counts.frames.Add(1)
		t.counts.bytes.Add(uint64(p.bytes))
	} else {
		t.counts.replaced.Add(1)
	}
	p.mu.Lock()
	h := p.hold
	p.hold, p.payload, p.under = nil, nil, false
	p.mu.Unlock()
	if h != nil {
		h.release()
	}
	t.parcels <- p // there is room for all of them
	if t.starved.Load() && t.starved.Swap(false) {
		t.wake()
	}
}
