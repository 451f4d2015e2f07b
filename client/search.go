// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// lookEvery is the least time from one question to the network to the next while
// a subscription waits for its stream.
const lookEvery = time.Second

// errLater: the network was asked a moment ago, or is to be given one.
var errLater = errors.New("the network is asked later")

// search is one look for the stream of a subscription: in the runtime
// directories of this host, and over Zenoh, where it is asked once at most.
type search struct {
	s     *Subscription
	asked bool
	// missing are those who did not answer.
	missing []string
	found   *negotiate.Announcement // nil: nobody announces it
	err     error                   // why that is not known
}

// host is the word for the host that the stream must be of, "" for any: the one
// that the user wrote, else the one that it was found on before. A camera of the
// same name on another host is another camera.
func (s *Subscription) hostWord() string {
	if s.host != "" {
		return s.host
	}
	return s.pinned
}

// local reports why the daemons of this host need not be asked; nil: they do.
func (l *search) local(ctx context.Context) error {
	word := l.s.hostWord()
	if word == "" || ThisHost(word) {
		return nil
	}
	// In a container the host has another name; the boot id tells.
	a, err := l.announced(ctx)
	if err != nil {
		return err
	}
	if a != nil && here().same(placeOf(a)) {
		return nil
	}
	return fmt.Errorf("%w on %s", ErrNoDaemon, word)
}

// announced asks the network for the stream; nil if nobody announces it. It
// fails with [ErrAmbiguous], [ErrConfig], errLater, or the error of ctx.
func (l *search) announced(ctx context.Context) (*negotiate.Announcement, error) {
	if l.asked {
		return l.found, l.err
	}
	l.asked = true
	s := l.s
	if s.background && time.Now().Before(s.lookAt) {
		l.err = errLater
		return nil, l.err
	}
	s.lookAt = time.Now().Add(s.opts.lookEvery)
	if l.err = s.join(ctx); l.err == nil {
		l.err = s.link.met(ctx)
	}
	if l.err != nil {
		return nil, l.err
	}
	f, err := collect(ctx, s.link.session, negotiate.AnnouncedStream(s.name), &s.opts, wanted(s.hostWord(), s.name))
	if err == nil {
		l.found, err = pick(f.all, s.hostWord(), s.name)
		l.missing = f.missing
	}
	l.err = err
	return l.found, l.err
}

// join opens the session with the network, unless it is open.
func (s *Subscription) join(ctx context.Context) (err error) {
	if s.link == nil {
		s.link, err = process.join(ctx, &s.opts)
	}
	return err
}

// topic finds out which topic the stream is: by the daemons of this host, then
// by what is announced, then by the name that camd gives topics, for daemons that
// announce nothing. why is why no better path can be had.
func (l *search) topic(ctx context.Context, why error) (target, error) {
	s := l.s
	var known []string
	noDaemon := l.local(ctx)
	if noDaemon == nil {
		var daemons []Daemon
		daemons, noDaemon = list(ctx, &s.opts)
		for _, d := range daemons {
			for i := range d.Streams {
				if info := &d.Streams[i]; info.Name == s.name {
					return target{topic: info.Topic, domain: info.Domain, info: info, dir: d.Dir, at: here(), zid: info.Publisher, rejected: s.rejected(why, here())}, nil
				}
				known = append(known, d.Streams[i].Name)
			}
		}
	}
	if ctx.Err() != nil {
		return target{}, ctx.Err()
	}
	refusal := why
	if why == nil {
		why = noDaemon
	}
	a, err := l.announced(ctx)
	switch {
	case a != nil && a.Session == "": // it does not say what it is
		return s.usual(ctx, why, placeOf(a))
	case a != nil:
		at := placeOf(a)
		return target{topic: a.Stream.Topic, domain: a.Stream.Domain, info: &a.Stream, at: at, zid: a.Stream.Publisher, rejected: s.rejected(why, at)}, nil
	case ctx.Err() != nil:
		return target{}, ctx.Err()
	case errors.Is(err, errLater), errors.Is(err, ErrAmbiguous):
		return target{}, err
	case err == nil && s.hostWord() == "":
		if t, err := s.usual(ctx, why, place{}); !errors.Is(err, errNotReady) {
			return t, err
		}
	}
	if said(refusal) {
		return target{}, why // a daemon of this host has it, and its word counts
	}
	if errors.Is(why, ErrUnknownStream) {
		noDaemon = why
	}
	if noDaemon == nil {
		noDaemon = refused(s.stream, "", &negotiate.Refusal{
			Reason: negotiate.ReasonUnknownStream, Text: fmt.Sprintf("no stream %s", s.stream), Known: known,
		})
	}
	return target{}, l.nowhere(ctx, noDaemon, err)
}

// usual is the topic that camd gives the stream where nothing else is configured,
// if somebody publishes it.
func (s *Subscription) usual(ctx context.Context, why error, at place) (target, error) {
	domain, _, err := s.opts.rosDomain()
	if err != nil {
		return target{}, err
	}
	t := target{
		topic: topicName(s.name), domain: domain, info: &negotiate.StreamInfo{Name: s.stream, State: stateRunning}, at: at, rejected: s.rejected(why, at),
	}
	if !s.published(ctx, t) {
		return target{}, notYet{fmt.Errorf("%s is announced, but nobody says what it is or publishes %s", s.stream, t.topic)}
	}
	return t, nil
}

// elsewhere is the error where only paths of this host are accepted: why, unless
// the stream is there, but not for this program.
func (l *search) elsewhere(ctx context.Context, why error) error {
	s := l.s
	looked := errors.Is(why, ErrNoDaemon) || errors.Is(why, ErrPermission) || errors.Is(why, ErrUnknownStream)
	if !looked || s.background {
		return why
	}
	var r *RefusedError
	if errors.As(why, &r) && !errors.Is(why, ErrUnknownStream) {
		return why // the daemon that has it said so
	}
	a, err := l.announced(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrAmbiguous):
		return err
	case a == nil:
		return l.nowhere(ctx, why, err)
	}
	at := placeOf(a)
	var rejected []negotiate.Rejected
	reason := negotiate.ReasonNotOffered
	for _, x := range s.rejected(why, at) {
		if x.Reason != negotiate.ReasonNotAccepted {
			rejected, reason = append(rejected, x), x.Reason
		}
	}
	text := fmt.Sprintf("%s is on %s: %s", s.name, at, negotiate.Summary(rejected))
	if reason != negotiate.ReasonDifferentHost {
		text = fmt.Sprintf("%s is on this host: %s (%v%s)", s.name, negotiate.Summary(rejected), why, dirHint(a))
	}
	err = refused(s.stream, "", &negotiate.Refusal{Reason: reason, Text: text, Rejected: rejected})
	return err
}

// dirHint says where a daemon of this host has its socket.
func dirHint(a *negotiate.Announcement) string {
	if a.RuntimeDir == "" {
		return ""
	}
	return "; its camd serves " + a.RuntimeDir
}

// nowhere adds to why, of this host, what was looked for on the network and why
// that was in vain: err, nil if it was asked and does not know the stream.
func (l *search) nowhere(ctx context.Context, why, err error) error {
	switch {
	case errors.Is(err, errLater):
		return err
	case errors.Is(err, ErrConfig):
		return fmt.Errorf("%w; %w", why, err)
	case err != nil && err.Error() == why.Error():
		return why
	case err != nil:
		return fmt.Errorf("%w; over Zenoh neither: %s", why, err)
	}
	var r *RefusedError
	if errors.As(why, &r) {
		if !l.s.background {
			r.Refusal.Known = append(r.Refusal.Known, l.known(ctx)...)
		}
		return why
	}
	if !l.s.background {
		if names := l.known(ctx); len(names) > 0 {
			// Somebody is there, who has other streams.
			return refused(l.s.stream, "", &negotiate.Refusal{
				Reason: negotiate.ReasonUnknownStream, Text: fmt.Sprintf("no stream %s", l.s.stream), Known: names,
			})
		}
	}
	if len(l.missing) > 0 {
		return fmt.Errorf("%w; over Zenoh nobody has announced %s yet: no answer in time from %s (asked: %s)", why, l.s.name, together(l.missing), l.s.link.reached())
	}
	return fmt.Errorf("%w; over Zenoh nobody announces %s (asked: %s)", why, l.s.name, l.s.link.reached())
}

// known are the names of the streams that are announced.
func (l *search) known(ctx context.Context) []string {
	f, err := collect(ctx, l.s.link.session, negotiate.AnnounceAll, &l.s.opts, nil)
	if err != nil {
		return nil
	}
	all := f.all
	var names []string
	for i := range all {
		name := all[i].Stream.Name
		if !here().same(placeOf(&all[i])) {
			name = placeOf(&all[i]).String() + ":" + name
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// published reports whether the graph shows the topic.
func (s *Subscription) published(ctx context.Context, t target) bool {
	ctx, cancel := context.WithTimeout(ctx, graphWait)
	defer cancel()
	tokens, _ := s.link.session.Tokens(ctx, publisherTokens(t)) // those that came in time
	return len(tokens) > 0
}
