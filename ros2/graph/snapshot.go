// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Snapshot is the graph at one moment. It does not change, and must not be
// changed: it is shared.
type Snapshot struct {
	Nodes  []Node  // by full name, then domain
	Topics []Topic // by name, then domain

	version uint64
	once    sync.Once
	gids    map[GID]Entity
}

// Node is a node and what it has.
type Node struct {
	Domain                   int
	Namespace, Name, Enclave string // namespace and enclave "/" for none
	ZID                      string
	ID                       uint64
	Declared                 bool // by a token of its own, not only by its endpoints
	Publishers, Subscribers  []Entity
}

// FullName returns the name with the namespace.
func (n Node) FullName() string { return Join(n.Namespace, n.Name) }

// Topic is who publishes and subscribes under one name, in the order of type,
// hash, QoS and node.
type Topic struct {
	Domain                  int
	Name                    string
	Types                   []string // sensor_msgs/msg/Image; more than one is somebody's mistake
	Publishers, Subscribers []Entity
}

// Snapshot returns the graph as it is now.
func (c *Cache) Snapshot() *Snapshot {
	old := c.snapshot.Load()
	c.mu.Lock()
	if old != nil && old.version == c.version {
		c.mu.Unlock()
		return old
	}
	// Only pointers are copied under the lock: members do not change.
	s := &Snapshot{version: c.version}
	all := make([]*Entity, 0, len(c.tokens))
	for _, m := range c.tokens {
		all = append(all, &m.entity)
	}
	c.mu.Unlock()
	s.build(all)
	if last := c.snapshot.Load(); last == nil || last.version < s.version {
		c.snapshot.CompareAndSwap(last, s)
	}
	return s
}

// Nodes returns the nodes.
func (c *Cache) Nodes() []Node { return c.Snapshot().Nodes }

// Topics returns the topics.
func (c *Cache) Topics() []Topic { return c.Snapshot().Topics }

// Publishers returns who publishes a topic.
func (c *Cache) Publishers(topic string) []Entity {
	t, _ := c.Snapshot().Topic(topic)
	return t.Publishers
}

// Subscribers returns who subscribes to a topic.
func (c *Cache) Subscribers(topic string) []Entity {
	t, _ := c.Snapshot().Topic(topic)
	return t.Subscribers
}

// Topic returns the topic of a name; of several domains the first.
func (s *Snapshot) Topic(name string) (Topic, bool) {
	i, ok := slices.BinarySearchFunc(s.Topics, name, func(t Topic, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return Topic{}, false
	}
	return s.Topics[i], true
}

// ByGID returns the endpoint that sends attachments with the GID. Of one with
// buffer backends it knows also the GID that it would have without.
func (s *Snapshot) ByGID(g GID) (Entity, bool) {
	s.once.Do(func() {
		s.gids = map[GID]Entity{}
		for _, n := range s.Nodes {
			for _, list := range [][]Entity{n.Publishers, n.Subscribers} {
				for _, e := range list {
					s.gids[e.GID()] = e
					if plain := e; e.Backends != "" {
						plain.Backends = ""
						s.gids[plain.GID()] = e
					}
				}
			}
		}
	})
	e, ok := s.gids[g]
	return e, ok
}

func (s *Snapshot) build(all []*Entity) {
	slices.SortFunc(all, order)
	nodes := map[nodeKey]*Node{}
	type id struct {
		name   string
		domain int
	}
	topics := map[id]*Topic{}
	for _, e := range all {
		n := entry(nodes, e.nodeKey(), func() *Node {
			return &Node{Domain: e.Domain, Namespace: e.Namespace, Name: e.Node, Enclave: e.Enclave, ZID: e.ZID, ID: e.NodeID}
		})
		topic := func() *Topic {
			t := entry(topics, id{e.Topic, e.Domain}, func() *Topic { return &Topic{Domain: e.Domain, Name: e.Topic} })
			t.Types = add(t.Types, e.Type)
			return t
		}
		switch e.Kind {
		case KindNode:
			n.Declared = true
		case KindPublisher:
			t := topic()
			n.Publishers, t.Publishers = append(n.Publishers, *e), append(t.Publishers, *e)
		case KindSubscriber:
			t := topic()
			n.Subscribers, t.Subscribers = append(n.Subscribers, *e), append(t.Subscribers, *e)
		}
	}
	s.Nodes = sorted(nodes, func(a, b Node) int {
		return cmp.Or(strings.Compare(a.FullName(), b.FullName()), cmp.Compare(a.Domain, b.Domain), strings.Compare(a.ZID, b.ZID), cmp.Compare(a.ID, b.ID))
	})
	s.Topics = sorted(topics, func(a, b Topic) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Domain, b.Domain))
	})
}

// order is by topic, type, hash, QoS and then by who it is.
func order(a, b *Entity) int {
	return cmp.Or(
		strings.Compare(a.Topic, b.Topic), strings.Compare(a.Type, b.Type), strings.Compare(a.Hash, b.Hash),
		orderQoS(a.QoS, b.QoS),
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Node, b.Node),
		strings.Compare(a.ZID, b.ZID), cmp.Compare(a.NodeID, b.NodeID), cmp.Compare(a.ID, b.ID),
	)
}

func orderQoS(a, b QoS) int {
	return cmp.Or(
		cmp.Compare(a.Reliability, b.Reliability), cmp.Compare(a.Durability, b.Durability),
		cmp.Compare(a.History, b.History), cmp.Compare(a.Depth, b.Depth),
		cmp.Compare(a.Deadline, b.Deadline), cmp.Compare(a.Lifespan, b.Lifespan),
		cmp.Compare(a.Liveliness, b.Liveliness), cmp.Compare(a.Lease, b.Lease),
	)
}

func entry[K comparable, V any](m map[K]*V, k K, make func() *V) *V {
	v := m[k]
	if v == nil {
		v = make()
		m[k] = v
	}
	return v
}

func sorted[K comparable, V any](m map[K]*V, order func(a, b V) int) []V {
	out := make([]V, 0, len(m))
	for _, v := range m {
		out = append(out, *v)
	}
	slices.SortFunc(out, order)
	return out
}

// add appends a type that is not the last one: they come sorted.
func add(types []string, t string) []string {
	if n := len(types); n > 0 && types[n-1] == t {
		return types
	}
	return append(types, t)
}
