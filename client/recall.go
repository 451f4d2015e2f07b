// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-3c7e7623/camd/ros2/graph"
)

// The least and the longest time between two questions for publishers that were
// left out.
const (
	recallLeast = time.Second
	recallMost  = 32 * time.Second
)

// recall is about tokens of publishers for which there was no room. It belongs
// to the subscription's mutex.
type recall struct {
	left  bool // some were left out
	under bool // a question is under way
	last  time.Time
	pause time.Duration       // until the next one
	went  map[string]struct{} // meanwhile, which the answer may still list
}

// maxWent bounds what is remembered while a question is under way.
const maxWent = 1 << 12

// gone books a token that vanished: there may be room.
func (c *recall) gone(token string) {
	c.pause = recallLeast
	if c.under && len(c.went) < maxWent {
		c.went[token] = struct{}{}
	}
}

// book takes a token into the graph. One more place than others can take is kept
// for the publisher that is followed. mu is held.
func (r *topicRoute) book(token string) error {
	if r.graph.Stats().Tokens >= maxPublishers {
		if e, err := graph.ParseToken(token); err == nil && !r.follows(e.GID()) {
			if _, there := r.graph.Snapshot().ByGID(e.GID()); there {
				return nil
			}
			r.recall.left = true
			return fmt.Errorf("%w: more than %d publishers of %s", graph.ErrFull, maxPublishers, r.target.topic)
		}
	}
	return r.graph.Add(token)
}

// follows says whether frames of the publisher are taken. mu is held.
func (r *topicRoute) follows(gid graph.GID) bool { return r.follow.any && r.follow.gid == gid }

// ask looks again for publishers that were left out: once there is room, or the
// one that is followed is not known.
func (r *topicRoute) ask(ctx context.Context) {
	s := r.sub
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &r.recall
	room := r.graph.Stats().Tokens < maxPublishers
	if !c.left || c.under || time.Since(c.last) < c.pause || !room && r.shown(r.follow.gid) {
		return
	}
	c.left, c.under, c.last, c.pause = false, true, time.Now(), min(max(2*c.pause, recallLeast), recallMost)
	c.went = map[string]struct{}{}
	r.history.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, graphWait)
		defer cancel()
		tokens, err := r.link.session.Tokens(ctx, publisherTokens(r.target))
		s.mu.Lock()
		defer s.mu.Unlock()
		c.under = false
		if err != nil || len(c.went) >= maxWent {
			c.left = true
			return
		}
		for _, t := range tokens {
			if _, went := c.went[t]; !went {
				_ = r.book(t) // what is wrong with it was told when it came
			}
		}
		c.went = nil
		signal(r.wake)
	})
}
