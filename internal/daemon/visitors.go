// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh"
)

const (
	// maxVisitors is how many subscribers on the network are remembered: anybody
	// there can say that there are some.
	maxVisitors = 1024
	// maxLines bounds what is logged of them in a second.
	maxLines = 10
)

// visitors are the subscribers on the network, as they say themselves by their
// tokens. They are shown and count for nothing else: whether frames are
// published depends on who subscribes to the topics.
type visitors struct {
	access Access
	log    *slog.Logger
	lines  limiter

	mu       sync.Mutex
	unsaid   int                // lines that were left out of the log
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
		if x, ok := v.seen[s.Key]; ok {
			delete(v.seen, s.Key)
			v.say("subscription over", x)
		}
		return
	}
	if _, ok := v.seen[s.Key]; ok {
		return // peers of Zenoh 1.9 may tell of one twice
	}
	k, err := negotiate.ParseSubscriberKey(s.Key)
	if err == nil && !v.access.Accept.Stream(k.Stream) {
		return
	}
	if err != nil || len(v.seen) >= maxVisitors {
		v.unlisted++
		return
	}
	x := visitor{k, time.Now()}
	v.seen[s.Key] = x
	v.say("subscribed", x)
}

// say logs who comes and goes, a bounded number of lines. mu is held.
func (v *visitors) say(text string, x visitor) {
	if v.lines.wait(time.Now(), maxLines) > 0 {
		v.unsaid++
		return
	}
	args := []any{"stream", x.Stream, "backend", negotiate.BackendCPU, "subscriber", x.Program, "host", x.Host, "rejected", negotiate.Summary(x.Rejected)}
	if v.unsaid > 0 {
		args = append(args, "not_logged", v.unsaid)
		v.unsaid = 0
	}
	v.log.Info(text, args...)
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
