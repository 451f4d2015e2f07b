// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

// Credit is how many slots of a ring a stream may hold while they are sent: one
// under way, one that waits, and one that takes its place. Whoever makes the
// ring adds as many.
const Credit = inFlight

// Options are what a stream is published as.
type Options struct {
	Stream string // "camera/stream", for messages
	Camera string // name of the node, see NodeName
	Topic  string // of the pictures, fully qualified, without /compressed
	QoS    graph.QoS
	// JPEG says that the frames of the stream are JPEG, before the first is there.
	JPEG bool
	// Encoding of Images; "" is what viewers show, see Target.
	Encoding frame.Encoding
	FrameID  string
	Stamp    negotiate.Stamp
	// Info is the calibration for pictures of a size, whose header is set here;
	// nil: nobody calibrated the camera. It may read a file, for which only
	// camera_info waits.
	Info func(width, height int) msg.CameraInfo
	// Quality and MaxRate are of JPEG that is encoded here: 1 to 100, and pictures
	// a second, 0 = all.
	Quality int
	MaxRate float64
	// HoldFor is how long a slot may be held by a network that does not take it:
	// from half of that on frames are copied out. 0 = for ever.
	HoldFor time.Duration
	// Allow says why a topic is not to be published; nil: all are.
	Allow func(topic string) error
	Log   *slog.Logger
}

// Backend publishes one stream. It implements backend.Backend.
type Backend struct {
	o    Options
	link *Link
	wake chan struct{} // capacity 1: there may be something to do
	stop chan struct{}
	end  sync.Once
	over chan struct{} // closed when the goroutine has ended

	changed atomic.Bool // the topics may not be as they should

	mu      sync.Mutex
	next    *epoch // the newest; nil: none
	image   place
	info    place
	jpeg    place
	problem string // why there are no pictures
	pairing

	w worker
}

// place is one of the topics of a stream.
type place struct {
	topic   *Topic // nil: not declared
	name    string
	typ     msg.Type
	problem string // why it is not declared
	denied  string // why it never is; "": it may be
	wanted  bool   // it would be declared
}

var _ backend.Backend = (*Backend)(nil)

// New makes the backend of a stream and starts its goroutine, which Close ends.
func New(o Options, l *Link) *Backend {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Allow == nil {
		o.Allow = func(string) error { return nil }
	}
	b := &Backend{
		o: o, link: l, wake: make(chan struct{}, 1), stop: make(chan struct{}), over: make(chan struct{}),
		image: place{name: o.Topic, typ: msg.TypeImage},
		info:  place{name: InfoTopic(o.Topic), typ: msg.TypeCameraInfo},
		jpeg:  place{name: JPEGTopic(o.Topic), typ: msg.TypeCompressedImage},
	}
	for _, p := range b.places() {
		if err := o.Allow(p.name); err != nil {
			p.denied = err.Error()
		}
	}
	b.w.b = b
	go b.run()
	return b
}

// Close takes the topics back and waits for the goroutine, but not for the
// network: what the kernel has not taken keeps its slots until the session ends.
func (b *Backend) Close() {
	b.end.Do(func() { close(b.stop) })
	<-b.over
	b.part()
	b.SetRing(nil, frame.Color{}, false)
}

// SetRing gives the stream a new epoch, or with nil none. tight says that the
// ring has no slots for this backend beside those of others: it then holds one
// only while it copies.
func (b *Backend) SetRing(r *ring.Ring, color frame.Color, tight bool) {
	var e *epoch
	problem := ""
	if r != nil {
		p, err := newPlan(r.Geometry(), color, b.o.Encoding)
		if err == nil {
			e, err = newEpoch(r, p, tight, b.wake)
		}
		if err != nil {
			problem = err.Error()
			b.o.Log.Warn("stream is not published for ROS 2", "stream", b.o.Stream, "err", err)
		}
	}
	b.mu.Lock()
	old := b.next
	b.next, b.problem = e, problem
	b.mu.Unlock()
	if old != nil {
		old.local.Close()
	}
	b.renew()
}

// renew has the topics looked at.
func (b *Backend) renew() {
	b.changed.Store(true)
	b.signal()
}

func (b *Backend) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Topic is where the pictures are published: the Image, or for a stream of JPEG
// the CompressedImage; "" if that is not allowed.
func (b *Backend) Topic() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.pictures(); p.denied == "" {
		return p.name
	}
	return ""
}

// pictures is the topic that the stream is there for. The mutex is held.
func (b *Backend) pictures() *place {
	if b.o.JPEG {
		return &b.jpeg
	}
	return &b.image
}

func (b *Backend) places() [3]*place { return [...]*place{&b.image, &b.info, &b.jpeg} }

// Domain is the ROS domain.
func (b *Backend) Domain() int { return b.link.Domain }

// Candidate implements backend.Backend.
func (b *Backend) Candidate() negotiate.Candidate {
	c := negotiate.Candidate{Backend: negotiate.BackendCPU}
	b.mu.Lock()
	there, problem, denied := b.next != nil, cmp.Or(b.problem, b.pictures().problem), b.pictures().denied
	b.mu.Unlock()
	s, why := b.link.State()
	switch {
	case denied != "":
		c.Reason, c.Detail = negotiate.ReasonPolicy, denied
	case s == nil:
		c.Reason, c.Detail = negotiate.ReasonRouterUnreachable, why
	case !s.Connected():
		c.Reason, c.Detail = negotiate.ReasonRouterUnreachable, "the Zenoh session has no connection"
	case problem != "":
		c.Reason, c.Detail = negotiate.ReasonNotOffered, problem
	case !there:
		c.Reason, c.Detail = negotiate.ReasonNotReady, "the camera has not delivered a format yet"
	}
	return c
}

// Serve implements backend.Backend. The bytes do not come through this socket:
// the answer says where they do.
func (b *Backend) Serve(context.Context, *negotiate.Conn, *negotiate.Hello, []negotiate.Rejected) error {
	return backend.Declined(negotiate.BackendCPU, negotiate.ReasonOverZenoh, "topic %s in domain %d", b.Topic(), b.link.Domain)
}

// Wanted implements backend.Backend.
func (b *Backend) Wanted() bool {
	b.mu.Lock()
	lender := b.lender
	wanted := matched(b.image.topic) != nil || matched(b.jpeg.topic) != nil || b.borrower == nil && matched(b.info.topic) != nil
	b.mu.Unlock()
	return wanted || lender != nil && lender.lent() != nil
}

// Subscribers implements backend.Backend. Zenoh tells whether anybody
// subscribes, not who: see Topics.
func (b *Backend) Subscribers() []backend.Subscriber { return nil }

// Frames is how many messages were given to the network, on all topics.
func (b *Backend) Frames() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := uint64(0)
	for _, p := range b.places() {
		if p.topic != nil {
			n += p.topic.counts.frames.Load()
		}
	}
	return n
}

// Topics is a snapshot for status.
func (b *Backend) Topics() []TopicStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []TopicStatus{}
	for _, p := range b.places() {
		switch {
		case p.topic != nil:
			out = append(out, p.topic.status())
		case p.problem != "" || p.denied != "" && p.wanted:
			out = append(out, TopicStatus{Topic: p.name, Type: p.typ.Name, Problem: cmp.Or(p.denied, p.problem)})
		}
	}
	if b.problem != "" {
		out = append(out, TopicStatus{Topic: b.pictures().name, Problem: b.problem})
	}
	return out
}

// String says what becomes of the pictures.
func (b *Backend) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		return "nothing yet"
	}
	return fmt.Sprintf("%s: %v", b.pictures().name, b.next.plan)
}
