// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh"
)

// lookWait bounds a question for streams on the network: who has not answered by
// then is not waited for.
const lookWait = time.Second

// maxAnnounced bounds the answers that are remembered: anybody can give some.
const maxAnnounced = 1 << 12

// Announced lists the streams that camds announce over Zenoh, those of this host
// too, by host, stream and session. Of one whose daemon does not answer within a
// second, or is not to, there are only name and boot id. It fails with
// [ErrConfig], and with [ErrNoRouter] where there is neither a router nor a peer.
func Announced(ctx context.Context, opts ...Option) ([]negotiate.Announcement, error) {
	o := newOptions(opts)
	l, err := process.connected(ctx, &o)
	if err != nil {
		return nil, err
	}
	defer l.leave()
	return announced(ctx, l.session, negotiate.AnnounceAll, &o)
}

// announced asks for what is announced at key.
func announced(ctx context.Context, s session, key string, o *options) ([]negotiate.Announcement, error) {
	wait, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	// Both at once: somebody who answers one of them late, or never, does not take
	// the time of the other.
	var tokens []string
	var noTokens error
	var asking sync.WaitGroup
	asking.Go(func() { tokens, noTokens = s.Tokens(wait, key) })
	all, noAnswers := answers(wait, s, key, o)
	asking.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case wait.Err() != nil || len(all) > 0: // what there is by then is what there is
	case noTokens != nil && !errors.Is(noTokens, zenoh.ErrNotConnected):
		return nil, fmt.Errorf("asking for streams: %w", noTokens)
	case noAnswers != nil && !errors.Is(noAnswers, zenoh.ErrNotConnected):
		return nil, fmt.Errorf("asking for streams: %w", noAnswers)
	}
	return shown(all, tokens), nil
}

// answers are what those say who answer at key, before ctx ends.
func answers(ctx context.Context, s session, key string, o *options) ([]negotiate.Announcement, error) {
	if parameters := negotiate.AskBoot(here().boot); parameters != "" {
		key += "?" + parameters
	}
	var mu sync.Mutex
	var all []negotiate.Announcement
	var wrong error
	err := s.Get(ctx, key, func(smp zenoh.Sample) {
		a, err := readAnnouncement(smp)
		smp.Release()
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			wrong = err
		} else if len(all) < maxAnnounced {
			all = append(all, *a)
		}
	})
	mu.Lock() // an answer may still be under way
	defer mu.Unlock()
	if wrong != nil {
		o.log.Debug("an answer that is no announcement", "err", wrong)
	}
	return slices.Clone(all), err
}

// shown is what there is to be seen by tokens and answers, in order. Who answers
// and shows no token does not want to be found; of who does not answer there is
// what the token says.
func shown(all []negotiate.Announcement, tokens []string) []negotiate.Announcement {
	answered := map[negotiate.AnnouncedKey]bool{} // each token, and whether somebody answered for it
	for _, token := range tokens {
		if k, err := negotiate.ParseAnnouncedKey(token); err == nil && len(answered) < maxAnnounced {
			answered[k] = false
		}
	}
	all = slices.DeleteFunc(all, func(a negotiate.Announcement) bool {
		k := negotiate.AnnouncedKey{BootID: a.BootID, Stream: a.Stream.Name}
		if _, has := answered[k]; !has {
			return true
		}
		answered[k] = true
		return false
	})
	for k, has := range answered {
		if !has {
			all = append(all, negotiate.Announcement{BootID: k.BootID, Stream: negotiate.StreamInfo{Name: k.Stream}})
		}
	}
	slices.SortFunc(all, func(a, b negotiate.Announcement) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.BootID, b.BootID),
			strings.Compare(a.Stream.Name, b.Stream.Name), strings.Compare(a.Session, b.Session))
	})
	return slices.CompactFunc(all, func(a, b negotiate.Announcement) bool {
		return a.BootID == b.BootID && a.Stream.Name == b.Stream.Name && a.Session == b.Session
	})
}

// readAnnouncement holds an answer against the key that it came under.
func readAnnouncement(smp zenoh.Sample) (*negotiate.Announcement, error) {
	if smp.Kind != zenoh.Put {
		return nil, fmt.Errorf("%w: a delete", negotiate.ErrAnnouncement)
	}
	k, err := negotiate.ParseAnnouncedKey(smp.Key)
	if err != nil {
		return nil, err
	}
	a, err := negotiate.DecodeAnnouncement(smp.Payload)
	if err != nil {
		return nil, err
	}
	if k.BootID != a.BootID || k.Stream != a.Stream.Name {
		return nil, fmt.Errorf("%w: %s of boot id %s under the key %s", negotiate.ErrAnnouncement, a.Stream.Name, a.BootID, smp.Key)
	}
	return a, nil
}

// PickAnnounced is the one of all that a name means, "camera/stream" or
// "host:camera/stream": as Subscribe would. nil: none. It fails with
// [ErrAmbiguous].
func PickAnnounced(all []negotiate.Announcement, name string) (*negotiate.Announcement, error) {
	host, stream := SplitHost(name)
	return pick(all, host, stream)
}

func placeOf(a *negotiate.Announcement) place { return place{a.Host, a.BootID} }

// pick is the announcement that a name means: of the host that is named, else of
// this host, else the only one there is; nil if there is none.
func pick(all []negotiate.Announcement, word, stream string) (*negotiate.Announcement, error) {
	var found []*negotiate.Announcement
	for i := range all {
		if a := &all[i]; a.Stream.Name == stream && (word == "" || placeOf(a).named(word) || word == localhost && ThisHost(a.BootID)) {
			found = append(found, a)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	if at := slices.IndexFunc(found, func(a *negotiate.Announcement) bool { return ThisHost(a.BootID) }); at >= 0 {
		return found[at], nil
	}
	hosts := map[place]bool{}
	for _, a := range found {
		hosts[placeOf(a)] = true
	}
	if len(hosts) == 1 {
		return found[0], nil
	}
	return nil, fmt.Errorf("%w: %s is announced by %d hosts, name one of: %s", ErrAmbiguous, stream, len(hosts), candidates(hosts, stream))
}

// maxCandidates is how many hosts an error names.
const maxCandidates = 16

// candidates are the names that tell hosts apart.
func candidates(hosts map[place]bool, stream string) string {
	count := map[string]int{}
	for p := range hosts {
		count[p.host]++
	}
	var names []string
	for p := range hosts {
		word := p.host
		if word == "" || count[p.host] > 1 {
			word = p.boot
		}
		names = append(names, word+":"+stream)
	}
	slices.Sort(names)
	if more := len(names) - maxCandidates; more > 0 {
		names = append(names[:maxCandidates], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
