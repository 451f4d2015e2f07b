// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh"
)

// How long a question for streams waits while somebody has still to answer.
const (
	listWait = 2 * time.Second // for all streams
	// One stream is waited for until findWait while it is not known; once it is,
	// those who have it too have until lookWait.
	lookWait = time.Second
	findWait = 5 * time.Second
	meetWait = 2 * time.Second // for others to be found at all

	lookAgain = 50 * time.Millisecond  // between two looks at who has answered
	askAgain  = 300 * time.Millisecond // between two questions
)

const (
	// maxShown bounds the tokens that are remembered: anybody can give some.
	maxShown = 1 << 16
	// maxAnnounced bounds the answers that are remembered, maxTwins those for one
	// token: several daemons of a host can have one.
	maxAnnounced = 1 << 14
	maxTwins     = 16
)

// found is what a question for streams has brought.
type found struct {
	all     []negotiate.Announcement
	missing []string // who has not answered, for people
}

// collection is a question for streams under way. Tokens say what there is,
// answers what that is.
type collection struct {
	s    session
	key  string
	o    *options
	news chan struct{} // capacity 1

	mu       sync.Mutex
	tokens   map[negotiate.AnnouncedKey]int // how often had been asked when it appeared
	answers  map[negotiate.AnnouncedKey][]negotiate.Announcement
	answered int
	asks     int // questions that were asked
	open     int // of them and of that for tokens, those that have not ended
	asked    time.Time
	untold   int // who had not said all when the last was asked
	missing  []string
	failed   error
}

// collect asks for what is announced at key, and waits for as long as somebody
// is expected to say more. With enough it waits less once that is true, and more
// before. Whoever says nothing hides nobody else.
func collect(ctx context.Context, s session, key string, o *options, enough func([]negotiate.Announcement) bool) (found, error) {
	most := listWait
	if enough != nil {
		most = findWait
	}
	wait, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	c := &collection{
		s: s, key: key, o: o, news: make(chan struct{}, 1),
		tokens: map[negotiate.AnnouncedKey]int{}, answers: map[negotiate.AnnouncedKey][]negotiate.Announcement{},
	}
	watch, err := s.Watch(key, c.token)
	if err != nil {
		return found{}, fmt.Errorf("asking for streams: %w", err)
	}
	defer watch.Close()
	var asking sync.WaitGroup
	question := func(ask func() error) {
		c.mu.Lock()
		c.open++
		c.mu.Unlock()
		asking.Go(func() { c.end(ask(), wait) })
	}
	get := func(now others) {
		c.mu.Lock()
		c.asks++
		c.asked, c.untold = time.Now(), len(now.pending())
		c.mu.Unlock()
		question(func() error { return c.get(wait) })
	}
	question(func() error {
		tokens, err := s.Tokens(wait, key)
		for _, t := range tokens {
			c.token(t, true)
		}
		return err
	})
	get(s.Others())
	began, again := time.Now(), time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		now := s.Others()
		idle := len(now.pending()) == 0 && c.idle() // before what there is then
		all := c.shown()
		took := time.Since(began)
		known := enough == nil || enough(all)
		switch over := wait.Err() != nil; {
		case over:
			asking.Wait()
			return c.result(ctx, all, now.pending())
		case idle && (known || !now.looking || took >= meetWait):
			return c.result(ctx, all, nil)
		case enough != nil && known && took >= lookWait:
			cancel()
			asking.Wait()
			return found{all: all}, nil
		}
		if c.due(len(now.pending())) {
			get(now)
		}
		select {
		case <-c.news:
		case <-again.C:
		case <-wait.Done():
		}
	}
}

// token books that a token came or went.
func (c *collection) token(token string, alive bool) {
	k, err := negotiate.ParseAnnouncedKey(token)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.tokens[k]
	switch {
	case !alive:
		delete(c.tokens, k)
	case !known && len(c.tokens) < maxShown:
		c.tokens[k] = c.asks
	}
}

// get asks those who answer.
func (c *collection) get(ctx context.Context) error {
	selector := c.key
	if parameters := negotiate.AskBoot(here().boot); parameters != "" {
		selector += "?" + parameters
	}
	return c.s.Get(ctx, selector, negotiate.MaxAnnouncement, func(smp zenoh.Sample) {
		a, err := readAnnouncement(smp)
		smp.Release()
		if err != nil {
			c.o.log.Debug("an answer that is no announcement", "err", err)
			return
		}
		c.answer(a)
	})
}

func (c *collection) answer(a *negotiate.Announcement) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := negotiate.AnnouncedKey{BootID: a.BootID, Stream: a.Stream.Name}
	twins := c.answers[k]
	for i := range twins {
		if twins[i].Session == a.Session {
			twins[i] = *a // asked again
			return
		}
	}
	if len(twins) < maxTwins && c.answered < maxAnnounced {
		c.answers[k] = append(twins, *a)
		c.answered++
	}
}

// end books the end of a question.
func (c *collection) end(err error, wait context.Context) {
	c.mu.Lock()
	c.open--
	if by := unansweredBy(err); len(by) > 0 {
		c.missing = append(c.missing, by...)
	} else if err != nil && wait.Err() == nil && !errors.Is(err, zenoh.ErrNotConnected) {
		c.failed = err
	}
	c.mu.Unlock()
	signal(c.news)
}

// idle reports whether no question is open and none is to be asked.
func (c *collection) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open == 0 && !c.fresh(c.untold)
}

// due reports whether it is time to ask again; untold is how many have not said
// all.
func (c *collection) due(untold int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fresh(untold) && (c.open == 0 || time.Since(c.asked) >= askAgain)
}

// fresh reports whether there is a token without an answer whose owner may not
// have been asked. mu is held.
func (c *collection) fresh(untold int) bool {
	for k, asks := range c.tokens {
		if len(c.answers[k]) == 0 && (asks >= c.asks || untold < c.untold) {
			return true
		}
	}
	return false
}

// shown is what there is to be seen, in order. Who answers and shows no token
// does not want to be found; of who does not answer there is what the token says.
func (c *collection) shown() (all []negotiate.Announcement) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.tokens {
		all = append(all, c.answers[k]...)
		if len(c.answers[k]) == 0 {
			all = append(all, negotiate.Announcement{BootID: k.BootID, Stream: negotiate.StreamInfo{Name: k.Stream}})
		}
	}
	sortAnnounced(all)
	return all
}

// result is what there is at the end; pending are others who have not said all.
func (c *collection) result(ctx context.Context, all []negotiate.Announcement, pending []string) (found, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return found{}, ctx.Err()
	case len(all) == 0 && c.failed != nil:
		return found{}, fmt.Errorf("asking for streams: %w", c.failed)
	}
	return found{all, append(c.missing, pending...)}, nil
}
