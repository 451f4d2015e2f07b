// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"math"
	"time"

	"github.com/seed-3c7e7623/camd/ros2/graph"
)

// silence is how long the publisher that is followed must have been silent for
// another one to take its place.
const silence = int64(time.Second)

// maxMarks bounds the publishers of which it is remembered what came of them
// last.
const maxMarks = 64

// follower keeps to one publisher of a topic: frames of two cameras in turns
// are of use to nobody, and one that nobody knows must not get in between.
type follower struct {
	known func(graph.GID) bool // whether the graph shows the publisher

	gid   graph.GID
	any   bool
	heard int64 // CLOCK_MONOTONIC of its newest live message

	// marks hold what was taken, also of publishers that are gone: with one that
	// comes back comes what it keeps for late subscribers.
	marks map[graph.GID]mark
}

// mark is the newest message of a publisher that was taken.
type mark struct {
	number, source int64
	taken          int64 // CLOCK_MONOTONIC
}

// judge reports why a message is not to be taken; nil makes it the newest. One
// of the past, that the publisher kept, must be newer than what there is: that
// nothing came for a while is no reason to show it again.
func (f *follower) judge(a graph.Attachment, now int64, past bool) *ignored {
	m, had := f.marks[a.GID]
	// Not newer by either count: a copy, or history that comes late. A
	// publisher that counts anew, or not at all, has a newer time.
	old := had && a.Sequence <= m.number && a.SourceNanos <= m.source
	same := f.any && a.GID == f.gid
	switch {
	case old && (past || same && now-m.taken < silence):
		return ignore(IgnoredOld, "sequence %d after %d", a.Sequence, m.number)
	case f.any && !same && !f.gives(a.GID, now):
		return ignore(IgnoredPublisher, "publisher %v, while %v is followed", a.GID, f.gid)
	case f.any && !same && past && a.SourceNanos <= f.marks[f.gid].source:
		return ignore(IgnoredOld, "published before what %v published", f.gid)
	}
	if f.heard = now; past {
		f.heard -= silence // it may be gone, or not publish for a long time
	}
	if !had && len(f.marks) >= maxMarks {
		f.forget()
	}
	f.any, f.gid, f.marks[a.GID] = true, a.GID, mark{a.Sequence, a.SourceNanos, now}
	return nil
}

// forget gives up the mark that is the oldest.
func (f *follower) forget() {
	var oldest graph.GID
	taken := int64(math.MaxInt64)
	for gid, m := range f.marks {
		if m.taken < taken {
			oldest, taken = gid, m.taken
		}
	}
	delete(f.marks, oldest)
}

// gives reports whether the publisher that is followed makes room for gid: one
// that the graph shows goes before one that it does not, and among equals the
// first keeps its place until it is silent. Not every publisher has the GID
// that its token says, so that one is no reason to leave it out.
func (f *follower) gives(gid graph.GID, now int64) bool {
	mine, other := f.known(f.gid), f.known(gid)
	if mine != other {
		return other
	}
	return now-f.heard >= silence
}
