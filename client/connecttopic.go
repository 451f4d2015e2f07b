// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ros2/graph"
)

// IsTopic reports whether a name is that of a ROS topic, and not of a stream of
// camd: whether it begins with a slash.
func IsTopic(name string) bool { return strings.HasPrefix(name, "/") }

// EnvDomain is the variable of the ROS domain.
const EnvDomain = "ROS_DOMAIN_ID"

// rosDomain is the domain of topics. known is false if nobody said it and it is
// therefore 0.
func (o *options) rosDomain() (domain int, known bool, err error) {
	text := os.Getenv(EnvDomain)
	switch {
	case o.domain >= 0:
		return o.domain, true, nil
	case text == "":
		return 0, false, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, false, fmt.Errorf("%w: %s=%q: must be a whole number from 0 on", ErrConfig, EnvDomain, text)
	}
	return int(n), true, nil
}

// connectTopic declares a subscription of a topic. It fails with [ErrNoRouter]
// or [ErrUnknownStream].
func (s *Subscription) connectTopic(ctx context.Context, t target) (_ route, err error) {
	if err := graph.ValidateTopic(t.topic); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknownStream, err)
	}
	if err := s.join(ctx); err != nil {
		return nil, err
	}
	if err := s.link.met(ctx); err != nil {
		return nil, err
	}
	r := &topicRoute{
		sub: s, link: s.link, target: t, wake: make(chan struct{}, 1), clock: s.opts.clock(), asked: map[string]struct{}{},
		graph: graph.NewCache(t.domain, &graph.CacheOptions{MaxTokens: maxPublishers + 1}),
	}
	r.follow = follower{known: r.shown, marks: map[graph.GID]mark{}}
	defer func() {
		if err != nil {
			r.end(s)
		}
	}()
	publishers, err := r.watch(ctx)
	if err != nil {
		return nil, err
	}
	if r.choice, r.running = choose(publishers); !r.running {
		if !s.opts.unpublished {
			return nil, s.unknownTopic(ctx, t, publishers)
		}
		r.choice = unpublished(t.topic)
	}
	r.decoder.compressed = r.choice.typ != imageTypes[0].Name
	r.path = Path{
		Backend: negotiate.BackendCPU, Rejected: t.rejected, Dir: t.dir, Credit: s.opts.credit, Topic: t.topic, Domain: t.domain,
	}
	r.learn(publishers)
	if t.at.boot != "" && !t.at.same(here()) {
		r.path.Host = t.at.host
	}
	r.info = r.describe()
	return r, r.declare()
}

// watch begins to follow who publishes the topic, and returns who does now.
func (r *topicRoute) watch(ctx context.Context) ([]graph.Entity, error) {
	ctx, cancel := context.WithTimeout(ctx, graphWait)
	defer cancel()
	key := publisherTokens(r.target)
	w, err := r.link.session.Watch(key, r.seen)
	if err != nil {
		return nil, err
	}
	r.opened = append(r.opened, w)
	// They have been reported to the watch when this returns.
	told := make(chan error, 1)
	r.history.Go(func() {
		_, err := r.link.session.Tokens(ctx, key)
		told <- err
	})
	for {
		changed := r.graph.Changed()
		if there := r.publishers(); r.target.zid != "" && len(there) > 0 {
			return there, nil // who else there may be is not meant
		}
		select {
		case err = <-told:
			there := r.publishers()
			if err == nil || len(there) > 0 {
				return there, nil
			}
			return nil, unanswered(r.link.session, "asking who publishes "+r.target.topic, err)
		case <-changed:
		}
	}
}

// declare subscribes, and then lets ROS see it.
func (r *topicRoute) declare() error {
	session := r.link.session
	node, id, err := r.link.enter(r.target.domain, nodeName(r.sub.opts.name))
	if err != nil {
		return err
	}
	r.entered, r.number = true, id
	qos := graph.SensorData()
	if r.choice.latched && !r.sub.opts.noHistory {
		qos = graph.Latched()
	}
	e := node.Subscriber(id, r.target.topic, r.choice.typ, r.choice.hash, qos)
	for _, key := range e.ListenKeys() {
		c, err := session.Subscribe(key, r.live)
		if err != nil {
			return err
		}
		r.opened = append(r.opened, c)
	}
	if e.Hash == "*" {
		e.Hash = defaultHash(r.choice.typ)
	}
	if r.token, err = session.Token(e.Token()); err != nil {
		return err
	}
	return r.show()
}

// show lets the daemon see who gets its stream by cpu, and why.
func (r *topicRoute) show() error {
	t := &r.target
	if t.info == nil || t.at.boot == "" {
		return nil
	}
	id := r.link.session.ZID()
	if r.number > 0 {
		id = fmt.Sprintf("%s.%d", id, r.number)
	}
	k := negotiate.SubscriberKey{
		AnnouncedKey: negotiate.AnnouncedKey{BootID: t.at.boot, Stream: r.sub.name},
		ID:           id, Host: here().host, Program: fmt.Sprintf("%.*s", negotiate.MaxName, r.sub.opts.name), Rejected: t.rejected,
	}
	old := r.shownAs
	c, err := r.link.session.Token(k.String())
	if err != nil {
		return err
	}
	r.shownAs = c
	if old != nil {
		_ = old.Close()
	}
	return nil
}

func defaultHash(typ string) string {
	for _, t := range imageTypes {
		if t.Name == typ {
			return t.Hash
		}
	}
	return ""
}

// unknownTopic says what is there instead of a topic.
func (s *Subscription) unknownTopic(ctx context.Context, t target, publishers []graph.Entity) error {
	r := &negotiate.Refusal{Reason: negotiate.ReasonUnknownStream, Text: fmt.Sprintf("nobody publishes %s in domain %d", t.topic, t.domain)}
	if len(publishers) > 0 {
		r.Text = fmt.Sprintf("%s in domain %d is of the type %s, which is no image", t.topic, t.domain, publishers[0].Type)
	}
	ctx, cancel := context.WithTimeout(ctx, graphWait)
	defer cancel()
	topics, _, _, err := topicsOf(ctx, s.link.session, allTokens)
	if err != nil {
		s.opts.log.Debug("no list of topics", "err", err)
	}
	for i := range topics {
		switch p := &topics[i]; {
		case len(p.Publishers) == 0:
		case p.Domain == t.domain:
			r.Known = append(r.Known, p.Name)
		case p.Name == t.topic:
			r.Text += fmt.Sprintf("; it is there in domain %d", p.Domain)
		}
	}
	return refused(s.stream, "", r)
}
