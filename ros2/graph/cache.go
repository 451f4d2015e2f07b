// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// DefaultMaxTokens is how many tokens a cache holds unless it is told
// otherwise: 32 MiB of them at the very most.
const DefaultMaxTokens = 16384

// CacheOptions are settings of a [Cache].
type CacheOptions struct {
	MaxTokens int // 0: DefaultMaxTokens
}

// AnyDomain makes a [Cache] take the tokens of every domain.
const AnyDomain = -1

// Cache knows the nodes and endpoints of one domain, or of all, from their
// tokens. It is fed from a liveliness subscriber of [TokenPattern] or a part of
// it, and is safe for use by several goroutines.
type Cache struct {
	domain, limit int

	mu      sync.Mutex
	tokens  map[string]*member
	nodes   map[nodeKey]*nodeState
	refused map[string]uint64
	version uint64
	changed chan struct{}

	snapshot atomic.Pointer[Snapshot]
}

// member is a token that is there.
type member struct {
	entity Entity
	node   *nodeState
}

// nodeKey tells nodes apart. rmw_zenoh_cpp looks at the session and the id
// only; the name is for implementations that give all nodes the same id.
type nodeKey struct {
	domain          int
	zid             string
	id              uint64
	namespace, node string
}

type nodeState struct {
	declared bool // by a token of its own
	tokens   map[string]struct{}
}

// NewCache returns an empty cache of a domain, or of [AnyDomain]; o may be nil.
func NewCache(domain int, o *CacheOptions) *Cache {
	c := &Cache{
		domain: domain, limit: DefaultMaxTokens,
		tokens: map[string]*member{}, nodes: map[nodeKey]*nodeState{}, refused: map[string]uint64{},
		changed: make(chan struct{}, 1),
	}
	if o != nil && o.MaxTokens > 0 {
		c.limit = o.MaxTokens
	}
	return c
}

// Add takes a token that appeared. An endpoint's makes its node known too. A
// token that cannot be read or that there is no room for is counted and left
// out; the error says why and may be ignored.
func (c *Cache) Add(token string) error {
	e, err := ParseToken(token)
	if err == nil && c.domain != AnyDomain && e.Domain != c.domain {
		err = fmt.Errorf("%w: %d, this one is for %d", ErrDomain, e.Domain, c.domain)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.tokens[token]; there {
		return nil
	}
	if err == nil && len(c.tokens) >= c.limit {
		err = fmt.Errorf("%w: %d tokens", ErrFull, c.limit)
	}
	if err != nil {
		c.refused[reason(err)]++
		return err
	}
	k := e.nodeKey()
	n := c.nodes[k]
	if n == nil {
		n = &nodeState{tokens: map[string]struct{}{}}
		c.nodes[k] = n
	}
	n.tokens[token] = struct{}{}
	n.declared = n.declared || e.Kind == KindNode
	c.tokens[token] = &member{e, n}
	c.change()
	return nil
}

// Remove takes a token away that vanished. With a node's token all that is
// still under the node goes.
func (c *Cache) Remove(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.tokens[token]
	if m == nil {
		return
	}
	if m.entity.Kind == KindNode {
		for t := range m.node.tokens {
			delete(c.tokens, t)
		}
		clear(m.node.tokens)
	} else {
		delete(c.tokens, token)
		delete(m.node.tokens, token)
	}
	if len(m.node.tokens) == 0 {
		delete(c.nodes, m.entity.nodeKey())
	}
	c.change()
}

// change notes that the graph is another, with the mutex held.
func (c *Cache) change() {
	c.version++
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

func (e Entity) nodeKey() nodeKey { return nodeKey{e.Domain, e.ZID, e.NodeID, e.Namespace, e.Node} }

// Changed yields a value after changes, one for many when nobody receives
// meanwhile. It serves one receiver.
func (c *Cache) Changed() <-chan struct{} { return c.changed }

// CacheStats counts.
type CacheStats struct {
	Tokens, Nodes int
	// Refused counts tokens that were left out by reason: chunks, kind,
	// number, name, qos, backends, domain, full.
	Refused map[string]uint64
}

// Stats returns the counts.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := CacheStats{Tokens: len(c.tokens), Nodes: len(c.nodes), Refused: make(map[string]uint64, len(c.refused))}
	for r, n := range c.refused {
		s.Refused[r] = n
	}
	return s
}

var reasons = []struct {
	err    error
	reason string
}{
	{ErrChunks, "chunks"},
	{ErrKind, "kind"},
	{ErrNumber, "number"},
	{ErrName, "name"},
	{ErrQoS, "qos"},
	{ErrBackends, "backends"},
	{ErrDomain, "domain"},
	{ErrFull, "full"},
}

func reason(err error) string {
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.reason
		}
	}
	return "other"
}
