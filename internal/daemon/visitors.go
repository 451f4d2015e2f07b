// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"slices"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh"
)

// maxVisitors is how many subscribers on the network are remembered: anybody
// there can say that there are some.
const maxVisitors = 1024

// visitors are the subscribers on the network, as they say themselves by their
// tokens. They are shown and count for nothing else: whether frames are
// published depends on who subscribes to the topics.
type visitors struct {
	access Access

	mu       sync.Mutex
	seen     map[string]visitor // by key of the token
	unlisted uint64             // that found no room, or are malformed
}

type visitor struct {
	negotiate.SubscriberKey
	since time.Time
}

// hear takes a token that appears or vanishes.
func (v *visitors) hear(s zenoh.Sample) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s.Kind == zenoh.Delete {
		delete(v.seen, s.Key)
		return
	}
	k, err := negotiate.ParseSubscriberKey(s.Key)
	if err == nil && !v.access.Accept.Stream(k.Stream) {
		return
	}
	if err != nil || len(v.seen) >= maxVisitors {
		v.unlisted++
		return
	}
	v.seen[s.Key] = visitor{k, time.Now()}
}

// of lists those of a stream, the first ones first.
func (v *visitors) of(stream string) (out []backend.Subscriber) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, x := range v.seen {
		if x.Stream == stream {
			out = append(out, backend.Subscriber{
				Stream: stream, Backend: negotiate.BackendCPU, Host: x.Host, Client: x.Program, Since: x.since, Rejected: x.Rejected,
			})
		}
	}
	slices.SortFunc(out, func(a, b backend.Subscriber) int { return a.Since.Compare(b.Since) })
	return out
}

func (v *visitors) count() (listed int, unlisted uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.seen), v.unlisted
}
