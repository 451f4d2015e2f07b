// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/zenoh"
)

// maxPublishers bounds the publishers of one topic that are remembered: anybody
// can declare tokens.
const maxPublishers = 256

// partFor is how long after the end of a link a publisher that vanishes did so
// with it: its tokens go one by one.
const partFor = time.Second

// errAgain ends a route that is replaced by a better one: nothing is lost.
var errAgain = errors.New("published otherwise")

// The states of a topic, for StreamInfo.State.
const (
	stateRunning     = "running"
	stateUnpublished = "unpublished"
)

// seen books a token of the topic, on the goroutine that reads the network.
func (r *topicRoute) seen(token string, alive bool) {
	r.sub.mu.Lock()
	defer r.sub.mu.Unlock()
	if alive {
		if err := r.book(token); err != nil {
			r.ignore(&ignored{IgnoredToken, err})
		}
		return
	}
	r.recall.gone(token)
	was := r.shown(r.follow.gid)
	r.graph.Remove(token)
	if was && !r.shown(r.follow.gid) {
		r.follow.any = false // who is gone is not followed any more
	}
	if e, err := graph.ParseToken(token); err == nil {
		delete(r.asked, kept(&e))
	}
}

// shown reports whether the graph shows the publisher with the GID.
func (r *topicRoute) shown(gid graph.GID) bool {
	_, ok := r.graph.Snapshot().ByGID(gid)
	return ok
}

// publishers are those of the topic that are meant.
func (r *topicRoute) publishers() []graph.Entity {
	return r.target.of(r.graph.Publishers(r.target.topic))
}

// foreign reports that a message is of another publisher than the one that is
// meant: the camera of the same name on another host, which has the same topic.
// mu is held.
func (r *topicRoute) foreign(gid graph.GID, sender zenoh.ZID) *ignored {
	if r.target.zid == "" {
		return nil
	}
	if !r.known || gid != r.own {
		e, ok := r.graph.Snapshot().ByGID(gid)
		if !ok || e.ZID != r.target.zid {
			return ignore(IgnoredPublisher, "publisher %v is not that of the camera that was asked for", gid)
		}
		r.own, r.known = gid, true
	}
	// Anybody can write the GID of another. Peers pass nothing on: what the
	// camera's own peer publishes comes from itself.
	if r.direct && !sender.IsZero() && sender != r.via.Remote {
		return ignore(IgnoredPublisher, "the peer %v sends it in the name of the publisher %v", sender, gid)
	}
	return nil
}

// learn keeps by whom the frames come: who publishes is among publishers.
func (r *topicRoute) learn(publishers []graph.Entity) {
	zid := r.target.zid
	for i := range publishers {
		if e := &publishers[i]; zid == "" && r.choice.matches(e) {
			zid = e.ZID
		}
	}
	now := r.link.session.Others()
	l, direct := now.via(zid)
	if l == nil {
		return
	}
	s := r.sub
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.direct && !direct {
		r.parted, r.partAt = r.via, time.Now()
	}
	r.via, r.direct = *l, direct
	r.path.Router = linkAt(l)
	if s.topic == r {
		s.path.Router = r.path.Router
	}
}

// kept is the selector of what a publisher keeps for late subscribers: of the
// newest.
func kept(e *graph.Entity) string { return e.Key() + "/@adv/pub/" + e.ZID + "/**?_anyke;_max=1" }

// maxAsking bounds the questions under way: a token can come and go at any rate.
const maxAsking = 16

// fetch asks publishers that keep what they published (transient local) for
// the newest, each once.
func (r *topicRoute) fetch(ctx context.Context) {
	if r.sub.opts.noHistory {
		return
	}
	publishers := r.publishers()
	r.sub.mu.Lock()
	defer r.sub.mu.Unlock()
	for i := range publishers {
		e := &publishers[i]
		selector := kept(e)
		if _, asked := r.asked[selector]; asked || e.QoS.Durability != graph.TransientLocal || !r.choice.matches(e) || r.asking == maxAsking {
			continue
		}
		r.asked[selector] = struct{}{}
		r.asking++
		r.history.Go(func() {
			err := r.link.session.Get(ctx, selector, 0, r.past)
			if err != nil && ctx.Err() == nil {
				r.sub.opts.log.Debug("no history", "topic", r.path.Topic, "err", err)
			}
			r.sub.mu.Lock()
			r.asking--
			r.sub.mu.Unlock()
		})
	}
}

// look compares who publishes with what is received, and tells what changed.
func (r *topicRoute) look(s *Subscription) error {
	endpoint, lost := r.link.session.Connected()
	publishers := r.publishers()
	now := r.link.session.Others()
	s.mu.Lock()
	matching := 0
	for i := range publishers {
		if r.choice.matches(&publishers[i]) {
			matching++
		}
	}
	best, ok := choose(publishers)
	running := endpoint != "" && matching > 0
	was, told := r.running, r.told
	other := ok && (matching == 0 || r.choice.hash == "*")
	r.running, r.told = running, told || running
	if !was && running && told {
		s.stats.Reconnects++
	}
	if was && !running {
		s.broken = true
	}
	r.info.State, r.info.Problem = stateRunning, ""
	if !running {
		r.info.State, r.info.Problem = stateUnpublished, r.why(&now, lost, "").Error()
	}
	why := r.why(&now, lost, " any more")
	if s.topic == r {
		s.info = r.info
	}
	s.mu.Unlock()
	if running {
		r.learn(publishers)
	}

	switch {
	case endpoint != "" && other:
		return fmt.Errorf("%w: %s of %s", errAgain, best.typ, best.node)
	case was && !running:
		if r.target.info != nil {
			return why // what was agreed with the daemon is to be agreed on anew
		}
		s.opts.log.Warn("path lost", "stream", s.stream, "reason", why)
		s.event(EventDisconnected, why, "%s: %v", s.stream, why)
	case !was && running:
		s.event(EventConnected, nil, "%s", r.text())
	}
	return nil
}

// why says why no frames can come. The mutex of the subscription is held.
func (r *topicRoute) why(now *others, lost error, anyMore string) error {
	l, direct := now.via(r.via.Remote.String())
	cut := l == nil || r.direct && !direct
	switch {
	case !cut && !r.direct && time.Since(r.partAt) < partFor:
		return fmt.Errorf("connection to %s lost", linkName(&r.parted))
	case !cut && r.recall.left:
		return fmt.Errorf("no publisher of %s is known%s: there are more than %d, and some were left out", r.target.topic, anyMore, maxPublishers)
	case !cut:
		return fmt.Errorf("nobody publishes %s%s", r.target.topic, anyMore)
	case lost == nil || l != nil: // why another connection ended says nothing
		return fmt.Errorf("connection to %s lost", linkName(&r.via))
	}
	return fmt.Errorf("connection to %s lost: %w", linkName(&r.via), lost)
}

// describe is what is known about the topic before its first frame.
func (r *topicRoute) describe() negotiate.StreamInfo {
	i := negotiate.StreamInfo{Name: r.sub.stream, Camera: r.choice.node, Source: r.choice.typ, State: stateRunning}
	if r.target.info != nil {
		i = *r.target.info
	}
	i.Geometry.Width = 0 // until it is known in what form frames come
	i.Topic, i.Domain, i.Stamp = r.target.topic, r.target.domain, negotiate.StampCapture
	return i
}
