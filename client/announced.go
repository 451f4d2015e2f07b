// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh"
)

// Announced lists the streams that camds announce over Zenoh, those of this host
// too: those whose daemon answers first, by host, stream and session. Of one whose
// daemon does not answer within two seconds, or is not to, there are only name
// and boot id; [EventIncomplete] tells who did not answer. It fails with
// [ErrConfig], and with [ErrNoRouter] where there is neither a router nor a peer.
func Announced(ctx context.Context, opts ...Option) ([]negotiate.Announcement, error) {
	o := newOptions(opts)
	l, err := process.connected(ctx, &o)
	if err != nil {
		return nil, err
	}
	defer l.leave()
	f, err := collect(ctx, l.session, negotiate.AnnounceAll, &o, nil)
	o.incomplete("streams", f.missing)
	return f.all, err
}

// Find is [Announced] for who wants to know of one stream, "camera/stream" or
// "host:camera/stream": it waits up to five seconds while that has not been found
// and somebody is expected to say more, and not longer than a second for others
// once it is. See [PickAnnounced].
func Find(ctx context.Context, name string, opts ...Option) ([]negotiate.Announcement, error) {
	o := newOptions(opts)
	l, err := process.join(ctx, &o)
	if err != nil {
		return nil, err
	}
	defer l.leave()
	if err := l.met(ctx); err != nil {
		return nil, err
	}
	host, stream := SplitHost(name)
	f, err := collect(ctx, l.session, negotiate.AnnounceAll, &o, wanted(host, stream))
	o.incomplete("streams", f.missing)
	return f.all, err
}

// wanted tells whether what was found says what a name means.
func wanted(word, stream string) func([]negotiate.Announcement) bool {
	return func(all []negotiate.Announcement) bool {
		a, err := pick(all, word, stream)
		return err != nil || a != nil && a.Session != ""
	}
}

// incomplete tells who did not answer.
func (o *options) incomplete(what string, missing []string) {
	if len(missing) > 0 {
		o.event(EventIncomplete, nil, fmt.Sprintf("the list of %s is incomplete: no answer in time from %s", what, together(missing)))
	}
}

// sortAnnounced puts those that say what they are before those that do not.
func sortAnnounced(all []negotiate.Announcement) {
	slices.SortFunc(all, func(a, b negotiate.Announcement) int {
		if (a.Session == "") != (b.Session == "") {
			return strings.Compare(b.Session, a.Session)
		}
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.BootID, b.BootID),
			strings.Compare(a.Stream.Name, b.Stream.Name), strings.Compare(a.Session, b.Session))
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
