// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/zenoh"
)

// topicRoute receives the messages of one ROS 2 image topic. The newest frame
// waits in box for Next; what was there before goes back at once.
type topicRoute struct {
	sub    *Subscription
	link   *link
	target target
	choice choice
	path   Path

	opened  []io.Closer // subscribers and the watch of tokens
	token   io.Closer   // by which ROS sees the subscription
	shownAs io.Closer   // the token by which the daemon sees it, nil: none
	number  uint64      // of the endpoint in the session
	entered bool        // into the node of the domain

	wake    chan struct{} // capacity 1: there are events for run
	graph   *graph.Cache  // who publishes
	history sync.WaitGroup

	// The following belongs to sub.mu.
	over    bool
	box     arrival
	decoder decoder
	clock   wallClock
	follow  follower
	own     graph.GID // of the publisher that is meant, if known
	known   bool
	via     zenoh.Link // by which the frames come
	direct  bool       // it is that to the publisher
	parted  zenoh.Link // the direct one before, that ended
	partAt  time.Time  // when that was seen
	info    negotiate.StreamInfo
	epoch   uint64
	events  []Event             // for run to tell
	asked   map[string]struct{} // what publishers keep, by selector
	asking  int                 // how many questions are under way
	running bool                // somebody publishes, as far as is known
	told    bool                // that frames can come
	recall  recall
}

// arrival is a frame that nobody has taken.
type arrival struct {
	sample   zenoh.Sample
	data     []byte
	meta     frame.Meta
	geometry frame.Geometry
	session  frame.Session
	epoch    uint64
	message  int
	full     bool
}

// live takes a message, on the goroutine that reads the network.
func (r *topicRoute) live(smp zenoh.Sample) { r.receive(smp, false) }

// past takes a message that was published before: what is there already, newer
// or of the publisher that is followed, is no fault of it.
func (r *topicRoute) past(smp zenoh.Sample) { r.receive(smp, true) }

func (r *topicRoute) receive(smp zenoh.Sample, past bool) {
	s := r.sub
	s.mu.Lock()
	if r.over {
		s.mu.Unlock()
		smp.Release()
		return
	}
	now, step := r.clock.now()
	if step != 0 {
		r.stepped(step)
	}
	err := r.accept(&smp, now, past)
	old := smp // goes back
	if err == nil {
		old = r.box.sample
		r.box.sample, r.box.full = smp, true
	} else if !past || err.reason != IgnoredOld && err.reason != IgnoredPublisher {
		r.ignore(err)
	}
	s.mu.Unlock()
	old.Release()
	if err == nil {
		signal(s.changed)
	}
}

// accept reads a message into box. mu is held.
func (r *topicRoute) accept(smp *zenoh.Sample, now int64, past bool) *ignored {
	if smp.Kind != zenoh.Put {
		return ignore(IgnoredDelete, "a delete on %s", smp.Key)
	}
	a, err := graph.ParseAttachment(smp.Attachment)
	if err != nil {
		return ignore(IgnoredAttachment, "%w", err)
	}
	if a.Sequence < 0 {
		return ignore(IgnoredAttachment, "sequence number %d", a.Sequence)
	}
	if bad := r.foreign(a.GID, smp.Peer); bad != nil {
		return bad
	}
	p, bad := r.decoder.decode(smp.Payload)
	if bad != nil {
		return bad
	}
	// Only what is a frame can make itself the one that is followed.
	if bad := r.follow.judge(a, now, past); bad != nil {
		return bad
	}
	if p.geometry != r.info.Geometry || p.frameID != r.info.FrameID {
		r.described(p)
	}
	r.box.data, r.box.geometry, r.box.session, r.box.epoch = p.data, p.geometry, frame.Session(a.GID), r.epoch
	r.box.message = len(smp.Payload)
	r.box.meta = frame.Meta{
		Sequence: uint64(a.Sequence), WallNanos: p.stamp, CaptureNanos: r.clock.at(p.stamp),
		PublishNanos: r.clock.at(a.SourceNanos), Bytes: len(p.data),
	}
	if past {
		r.box.meta.Flags = frame.Kept
	}
	return nil
}

// described books another size, format or coordinate frame. mu is held.
func (r *topicRoute) described(p picture) {
	changed := p.geometry != r.info.Geometry
	r.info.Geometry, r.info.FrameID = p.geometry, p.frameID
	if !p.geometry.Encoding.YUV() && !p.geometry.Compressed() {
		r.info.Color = frame.Color{} // of what the camera had before it was converted
	}
	if changed {
		r.epoch++
		r.info.Epoch = r.epoch
		if r.epoch > 1 {
			r.tell(Event{Kind: EventReconfigured, Text: fmt.Sprintf("%s is now %v", r.sub.stream, p.geometry)})
		}
	}
	if r.sub.topic == r {
		r.sub.info = r.info
	}
}

// stepped tells that the system clock was set. mu is held.
func (r *topicRoute) stepped(step time.Duration) {
	r.sub.stats.ClockSteps++
	r.tell(Event{Kind: EventClockStep, Text: fmt.Sprintf(
		"%s: the system clock was set by %v: ages of frames that were under way are wrong, and all are as long as the publisher's clock is another", r.sub.stream, step.Round(time.Microsecond))})
}

// ignore counts a message that is no frame. The first of each reason is told.
// mu is held.
func (r *topicRoute) ignore(e *ignored) {
	s := r.sub
	if s.stats.Ignored == nil {
		s.stats.Ignored = map[IgnoreReason]uint64{}
	}
	s.stats.Ignored[e.reason]++
	if s.stats.Ignored[e.reason] == 1 {
		r.tell(Event{Kind: EventIgnored, Err: e.err, Text: fmt.Sprintf("%s: message ignored (%s): %v", s.stream, e.reason, e.err)})
	}
}

// maxEvents bounds what waits to be told: a publisher can cause many.
const maxEvents = 32

// tell hands an event to the subscription's goroutine. mu is held.
func (r *topicRoute) tell(e Event) {
	if len(r.events) < maxEvents {
		r.events = append(r.events, e)
	}
	signal(r.wake)
}

// takeTopic takes the frame that waits, if one does. mu is held.
func (s *Subscription) takeTopic() Frame {
	a := &s.topic.box
	if !a.full {
		return Frame{}
	}
	o := s.topic.origin(&a.meta)
	if !s.newer(o) {
		a.sample.Release()
		*a = arrival{}
		return Frame{}
	}
	s.last = o
	h := s.free[len(s.free)-1]
	h.epoch, h.sample, h.lease.Data, h.lease.Meta = nil, a.sample, a.data, a.meta
	h.geometry, h.session, h.number, h.message = a.geometry, a.session, a.epoch, a.message
	a.full, a.sample, a.data = false, zenoh.Sample{}, nil
	if seq := a.meta.Sequence; s.stats.Taken > 0 {
		far := seq <= s.lastSeq || seq-s.lastSeq > maxGap || s.lastKept && seq-s.lastSeq > 1
		if a.session != s.lastFrom || a.geometry != s.lastSize || far {
			s.broken = true
		}
		// The publisher began anew, or what is missing was published before there
		// was a subscription: no count of that.
		if far {
			s.lastSeq = seq
		}
	}
	return s.hand(h)
}

// maxGap is how many numbers can be missing because of losses.
const maxGap = 1 << 32

// releaseSample gives the memory of a frame back. mu is held, and given up.
func (s *Subscription) releaseSample(h *handle) {
	smp := h.sample
	h.sample, h.lease.Data = zenoh.Sample{}, nil
	s.free = append(s.free, h)
	s.mu.Unlock()
	smp.Release()
}

func (r *topicRoute) begin(s *Subscription) {
	s.mu.Lock()
	s.topic = r
	s.path, s.info = r.path, r.info
	r.told = r.running
	s.mu.Unlock()
	signal(s.changed)
	s.opts.log.Debug("subscribed", "stream", s.stream, "backend", r.path.Backend, "topic", r.path.Topic, "domain", r.path.Domain, "router", r.path.Router)
	if r.running {
		s.event(EventConnected, nil, "%s", r.text())
	} else {
		s.event(EventWaiting, nil, "waiting for a publisher of %s", r.path.Topic)
	}
}

// text says how frames come.
func (r *topicRoute) text() string {
	r.sub.mu.Lock()
	p := r.path
	r.sub.mu.Unlock()
	return fmt.Sprintf("%s by %s (%s)", r.sub.stream, p.Backend, p.Over(r.sub.stream)) + notBetter(p)
}

func (r *topicRoute) lost(err error) string { return err.Error() }

// end takes back what was declared.
func (r *topicRoute) end(s *Subscription) {
	for _, token := range []io.Closer{r.token, r.shownAs} {
		if token != nil {
			_ = token.Close()
		}
	}
	for _, c := range r.opened {
		_ = c.Close()
	}
	if r.entered {
		r.link.exit(r.target.domain)
	}
	s.mu.Lock()
	r.over = true
	old := r.box.sample
	r.box = arrival{}
	if s.topic == r {
		s.topic = nil
	}
	s.mu.Unlock()
	old.Release()
	r.flush(s) // the next route counts on: it does not tell again
	signal(s.changed)
	r.history.Wait()
}

// leave gives up the subscription's part in the shared session.
func (s *Subscription) leave() {
	if s.link != nil {
		s.link.leave()
		s.link = nil
	}
}

// flush tells what waits to be told.
func (r *topicRoute) flush(s *Subscription) {
	s.mu.Lock()
	events := r.events
	r.events = nil
	s.mu.Unlock()
	for _, e := range events {
		if e.Kind != EventReconfigured {
			s.opts.log.Warn(string(e.Kind), "stream", s.stream, "reason", e.Text)
		}
		s.event(e.Kind, e.Err, "%s", e.Text)
	}
}

// run tells what changes until the route ends.
func (r *topicRoute) run(ctx context.Context, s *Subscription) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	look := time.NewTicker(time.Second) // a connection that is lost need not show in tokens
	defer look.Stop()
	for {
		r.flush(s)
		r.fetch(ctx)
		r.ask(ctx)
		if err := r.look(s); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.wake:
		case <-r.graph.Changed():
		case <-look.C:
		}
	}
}
