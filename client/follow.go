// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"time"

	"github.com/seed-3c7e7623/camd/ros2/graph"
)

// silence is how long the publisher that is followed must have been silent for
// another one to take its place.
const silence = int64(time.Second)

// follower keeps to one publisher of a topic: frames of two cameras in turns
// are of use to nobody, and one that nobody knows must not get in between.
type follower struct {
	known map[graph.GID]int // publishers that the graph shows, with how often

	gid    graph.GID
	any    bool
	seen   int64 // CLOCK_MONOTONIC of its newest message
	number int64
	source int64
}

// judge reports why a message is not to be taken; nil makes it the newest.
func (f *follower) judge(a graph.Attachment, now int64) *ignored {
	if f.any && a.GID == f.gid {
		// Not newer by either count: a copy, or history that comes late. A
		// publisher that counts anew, or not at all, has a newer time.
		if a.Sequence <= f.number && a.SourceNanos <= f.source && now-f.seen < silence {
			return ignore(IgnoredOld, "sequence %d after %d", a.Sequence, f.number)
		}
	} else if f.any && !f.gives(a.GID, now) {
		return ignore(IgnoredPublisher, "publisher %v, while %v is followed", a.GID, f.gid)
	}
	f.any, f.gid, f.seen, f.number, f.source = true, a.GID, now, a.Sequence, a.SourceNanos
	return nil
}

// gives reports whether the publisher that is followed makes room for gid: one
// that the graph shows goes before one that it does not, and among equals the
// first keeps its place until it is silent. Not every publisher has the GID
// that its token says, so that one is no reason to leave it out.
func (f *follower) gives(gid graph.GID, now int64) bool {
	mine, other := f.known[f.gid] > 0, f.known[gid] > 0
	if mine != other {
		return other
	}
	return now-f.seen >= silence
}

// appeared books a token of a publisher.
func (f *follower) appeared(gid graph.GID) { f.known[gid]++ }

// vanished books the end of one. Who is gone is not followed any more.
func (f *follower) vanished(gid graph.GID) {
	if f.known[gid]--; f.known[gid] > 0 {
		return
	}
	delete(f.known, gid)
	if f.gid == gid {
		f.any = false
	}
}
