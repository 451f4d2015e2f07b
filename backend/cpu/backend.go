// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
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
	// JPEGInfo has a stream of JPEG publish camera_info as well.
	JPEGInfo bool
	// Encoding of Images; "" is what viewers show, see Target.
	Encoding frame.Encoding
	FrameID  string
	Stamp    negotiate.Stamp
	// Info is the calibration for pictures of a size, whose header is set here;
	// nil: nobody calibrated the camera.
	Info func(width, height int) msg.CameraInfo
	// Quality and MaxRate are of JPEG that is encoded here: 1 to 100, and pictures
	// a second, 0 = all.
	Quality int
	MaxRate float64
	// HoldFor is how long a slot may be held by a network that does not take it:
	// from half of that on frames are copied out. 0 = for ever.
	HoldFor time.Duration
	Log     *slog.Logger
}

// Backend publishes one stream. It implements backend.Backend.
type Backend struct {
	o    Options
	link *Link
	wake chan struct{} // capacity 1: there may be something to do
	stop chan struct{}
	end  sync.Once
	over chan struct{} // closed when the goroutine has ended

	mu       sync.Mutex
	next     *epoch        // the newest; nil: none
	noEncode bool          // another stream publishes the JPEG
	noInfo   bool          // and camera_info
	left     chan struct{} // closed when that is so
	image    *Topic
	info     *Topic
	jpeg     *Topic
	problem  string

	w worker
}

var _ backend.Backend = (*Backend)(nil)

// New makes the backend of a stream and starts its goroutine, which Close ends.
func New(o Options, l *Link) *Backend {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	b := &Backend{o: o, link: l, wake: make(chan struct{}, 1), stop: make(chan struct{}), over: make(chan struct{}), left: make(chan struct{})}
	b.w.b = b
	go b.run()
	return b
}

// Close takes the topics back and waits for the goroutine, but not for the
// network: what the kernel has not taken keeps its slots until the session ends.
func (b *Backend) Close() {
	b.end.Do(func() { close(b.stop) })
	<-b.over
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
	b.signal()
}

// LeaveJPEG has the stream not encode JPEG, since the camera's own is published
// under the same topic, and with info not publish camera_info either. The topics
// are free when this returns.
func (b *Backend) LeaveJPEG(info bool) {
	b.mu.Lock()
	b.noEncode, b.noInfo = true, info
	b.mu.Unlock()
	b.signal()
	select {
	case <-b.left:
	case <-b.over:
	}
}

func (b *Backend) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Topic is where the pictures are published: the Image, or for a stream of JPEG
// the CompressedImage.
func (b *Backend) Topic() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.topic()
}

func (b *Backend) topic() string {
	if b.o.JPEG {
		return b.o.Topic + compressedSuffix
	}
	return b.o.Topic
}

// Domain is the ROS domain.
func (b *Backend) Domain() int { return b.link.Domain }

// Candidate implements backend.Backend.
func (b *Backend) Candidate() negotiate.Candidate {
	c := negotiate.Candidate{Backend: negotiate.BackendCPU}
	b.mu.Lock()
	there, problem := b.next != nil, b.problem
	b.mu.Unlock()
	s, why := b.link.State()
	switch {
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
	defer b.mu.Unlock()
	for _, t := range []*Topic{b.image, b.info, b.jpeg} {
		if t != nil && t.Matched() {
			return true
		}
	}
	return false
}

// Subscribers implements backend.Backend. Zenoh tells whether anybody
// subscribes, not who: see Topics.
func (b *Backend) Subscribers() []backend.Subscriber { return nil }

// Frames is how many messages were given to the network, on all topics.
func (b *Backend) Frames() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := uint64(0)
	for _, t := range []*Topic{b.image, b.info, b.jpeg} {
		if t != nil {
			n += t.counts.frames.Load()
		}
	}
	return n
}

// Topics is a snapshot for status.
func (b *Backend) Topics() []TopicStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []TopicStatus{}
	for _, t := range []*Topic{b.image, b.info, b.jpeg} {
		if t != nil {
			out = append(out, t.status())
		}
	}
	if b.problem != "" {
		out = append(out, TopicStatus{Topic: b.topic(), Problem: b.problem})
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
	return fmt.Sprintf("%s: %v", b.topic(), b.next.plan)
}
