// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// links are the Zenoh sessions of the process: all subscriptions with the same
// configuration share one, which is opened for the first and closed with the
// last.
type links struct {
	mu  sync.Mutex
	all map[string]*link
}

var process = links{all: map[string]*link{}}

// link is a shared session, and what is declared once in it for all.
type link struct {
	key   string
	from  *links
	users int // belongs to from.mu

	opening chan struct{} // capacity 1: one opens

	mu      sync.Mutex
	session session // set by who opens
	where   string  // where others are looked for, for people; set by who opens
	ids     uint64
	nodes   map[int]*node // by domain
}

// node is what subscriptions of one domain appear as in ROS.
type node struct {
	entity graph.Entity
	token  io.Closer
	users  int
}

// key tells sessions apart that may not be shared.
func (o *options) linkKey() string {
	switch {
	case o.session != nil:
		return fmt.Sprintf("session %p", o.session)
	case o.zenoh != nil:
		return fmt.Sprintf("configuration %p", o.zenoh)
	}
	return "environment"
}

// join returns the link for o, with its session open. It fails with
// [ErrNoRouter], and with ctx's error also while another call opens it. Each
// call that succeeds needs one of leave.
func (ls *links) join(ctx context.Context, o *options) (*link, error) {
	key := o.linkKey()
	ls.mu.Lock()
	l := ls.all[key]
	if l == nil {
		l = &link{key: key, from: ls, opening: make(chan struct{}, 1), nodes: map[int]*node{}}
		ls.all[key] = l
	}
	l.users++
	ls.mu.Unlock()
	select {
	case l.opening <- struct{}{}:
		defer func() { <-l.opening }()
	case <-ctx.Done():
		l.leave()
		return nil, context.Cause(ctx)
	}
	if l.opened() == nil {
		s, first, where, err := o.openLink(ctx)
		if err != nil {
			ls.part(l)
			return nil, err
		}
		l.mu.Lock()
		l.session, l.ids, l.where = s, first, where
		l.mu.Unlock()
	}
	return l, nil
}

// connected is join for who asks at once: it also fails where nobody is there.
func (ls *links) connected(ctx context.Context, o *options) (*link, error) {
	l, err := ls.join(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := l.connected(); err != nil {
		l.leave()
		return nil, err
	}
	return l, nil
}

// opened is the session, nil before it is open.
func (l *link) opened() session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// openLink opens the session that o speaks of. first is the first id for
// entities of ROS: another part of the program may have declared some in a
// session that the program gave. where is where others are looked for.
func (o *options) openLink(ctx context.Context) (s session, first uint64, where string, err error) {
	if o.open != nil {
		s, err = o.open(ctx)
		return s, 0, "", err
	}
	if o.session != nil {
		return realSession{o.session, false}, 1 << 16, "", nil
	}
	c, err := o.zenohConfig()
	if err != nil {
		return nil, 0, "", err
	}
	if s, err = openSession(ctx, c, o); err != nil {
		return nil, 0, "", noRouter(c, err)
	}
	return s, 0, searched(c), nil
}

// connected reports why nobody can be asked: there is neither a router nor a
// peer. The error is an [ErrNoRouter].
func (l *link) connected() error {
	endpoint, lost := l.session.Connected()
	switch {
	case endpoint != "":
		return nil
	case lost != nil:
		return fmt.Errorf("%w: %w", ErrNoRouter, lost)
	}
	return fmt.Errorf("%w%s; ROS 2 starts one with: ros2 run rmw_zenoh_cpp rmw_zenohd", ErrNoRouter, l.where)
}

// reached says for people who was asked.
func (l *link) reached() string {
	o := l.session.Others()
	return cmp.Or(together(o.names()), "nobody any more")
}

// part ends one use of l. It reports whether it was the last.
func (ls *links) part(l *link) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l.users--
	if l.users > 0 {
		return false
	}
	if ls.all[l.key] == l {
		delete(ls.all, l.key)
	}
	return true
}

// leave ends one use; the last closes the session.
func (l *link) leave() {
	if !l.from.part(l) {
		return
	}
	if s := l.opened(); s != nil {
		_ = s.Close() // what cannot be said any more is seen by its absence
	}
}

// id returns a number that no entity of the session has.
func (l *link) id() uint64 {
	l.ids++
	return l.ids - 1
}

// enter declares the node of a domain, if it is not there yet, and returns it
// with an id for an endpoint. Each call that succeeds needs one of exit.
func (l *link) enter(domain int, name string) (graph.Entity, uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.nodes[domain]
	if n == nil {
		n = &node{entity: graph.NewNode(domain, l.session.ZID(), l.id(), "", name)}
		var err error
		if n.token, err = l.session.Token(n.entity.Token()); err != nil {
			return graph.Entity{}, 0, err
		}
		l.nodes[domain] = n
	}
	n.users++
	return n.entity, l.id(), nil
}

// exit ends one use of the node of a domain.
func (l *link) exit(domain int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.nodes[domain]
	if n.users--; n.users == 0 {
		_ = n.token.Close()
		delete(l.nodes, domain)
	}
}

// nodeName makes a node's name of a program's: ROS allows letters, digits and
// underscores. The process number keeps two of a host apart.
func nodeName(program string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, program)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "n" + name
	}
	return fmt.Sprintf("%.100s_%d", name, os.Getpid())
}

func endpoints(c *config.Config) string { return strings.Join(c.Connect.Endpoints, ", ") }
