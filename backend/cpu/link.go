// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

var (
	// ErrTaken: another stream publishes the topic already.
	ErrTaken = errors.New("topic is taken")
	// ErrAnyHash: messages cannot be kept for late subscribers under a key that
	// is for every hash.
	ErrAnyHash = errors.New("transient local durability needs the exact hash in the key")
)

// Link is the part of a ROS 2 graph that one session holds: its nodes, the
// numbers of what it declares, and who publishes which topic. It is there before
// the session is. Set the exported fields before use.
type Link struct {
	Domain    int
	Namespace string // "" is /
	Enclave   string
	// AnyHash has topics published for subscribers of every hash of their type,
	// also those of Humble, which knows none: * takes the hash's place in the
	// keys. Tokens stay as they are.
	AnyHash bool

	mu      sync.Mutex
	session Session
	problem string
	next    uint64 // number of the next node or endpoint
	nodes   map[string]*node
	topics  map[string]struct{}
	users   map[int]func() // told of the session
	joined  int
}

type node struct {
	id    uint64
	token Closer
	uses  int
}

// Open gives the link its session.
func (l *Link) Open(s Session) {
	l.mu.Lock()
	l.session, l.problem = s, ""
	defer l.mu.Unlock()
	for _, tell := range l.users {
		tell()
	}
}

// Fail says why there is no session (yet).
func (l *Link) Fail(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problem = why
}

// State is the session, nil without one, and then why there is none.
func (l *Link) State() (Session, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == nil && l.problem == "" {
		return nil, "the Zenoh session is being opened"
	}
	return l.session, l.problem
}

// Join has tell called when there is a session, and when a topic becomes free,
// until leave is called. tell does not block and calls nothing of the link.
func (l *Link) Join(tell func()) (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users == nil {
		l.users = make(map[int]func())
	}
	l.joined++
	id := l.joined
	l.users[id] = tell
	if l.session != nil {
		tell()
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.users, id)
	}
}

// endpoint declares a publisher: first what sends, then the tokens by which
// others find it. Nothing here waits for the network.
func (l *Link) endpoint(nodeName, topic string, t msg.Type, q graph.QoS, onMatching func(bool)) (*endpoint, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == nil {
		return nil, errors.New("no session")
	}
	if _, taken := l.topics[topic]; taken {
		return nil, fmt.Errorf("%w: %s", ErrTaken, topic)
	}
	n, fresh := l.node(nodeName)
	own := graph.NewNode(l.Domain, l.session.ZID(), n.id, l.Namespace, nodeName)
	own.Enclave = l.Enclave
	e := own.Publisher(l.number(), topic, t.Name, t.Hash, q)
	if err := e.Validate(); err != nil {
		return nil, err
	}
	out := &endpoint{link: l, node: n, nodeName: nodeName, entity: e, gid: e.GID()}
	var err error
	resolved := q.Resolved()
	o := PublishOptions{BestEffort: resolved.Reliability == graph.BestEffort, OnMatching: onMatching}
	if resolved.Durability == graph.TransientLocal {
		o.Cache = resolved.Depth
	}
	key := e.Key()
	if l.AnyHash {
		if o.Cache > 0 {
			return nil, fmt.Errorf("%w: %s", ErrAnyHash, topic)
		}
		key = strings.TrimSuffix(key, t.Hash) + "*"
	}
	if out.publisher, err = l.session.Publish(key, o); err != nil {
		return nil, err
	}
	if fresh {
		if n.token, err = l.session.Token(own.Token()); err != nil {
			return nil, errors.Join(err, out.publisher.Close())
		}
		if l.nodes == nil {
			l.nodes = make(map[string]*node)
		}
		l.nodes[nodeName] = n
	}
	n.uses++
	if out.token, err = l.session.Token(e.Token()); err != nil {
		l.leave(out)
		return nil, errors.Join(err, out.publisher.Close())
	}
	if l.topics == nil {
		l.topics = make(map[string]struct{})
	}
	l.topics[topic] = struct{}{}
	return out, nil
}

// node is the one of that name, or a new one that nobody knows of yet. mu is
// held.
func (l *Link) node(name string) (n *node, fresh bool) {
	if n, ok := l.nodes[name]; ok {
		return n, false
	}
	return &node{id: l.number()}, true
}

func (l *Link) number() uint64 {
	l.next++
	return l.next - 1
}

// leave ends a node with its last endpoint. mu is held.
func (l *Link) leave(e *endpoint) {
	if e.node.uses--; e.node.uses > 0 {
		return
	}
	_ = e.node.token.Close()
	delete(l.nodes, e.nodeName)
}

// endpoint is a publisher in the graph.
type endpoint struct {
	link      *Link
	node      *node
	nodeName  string
	entity    graph.Entity
	gid       graph.GID
	publisher Publisher
	token     Closer
}

func (e *endpoint) close() {
	l := e.link
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = e.token.Close()
	_ = e.publisher.Close()
	l.leave(e)
	delete(l.topics, e.entity.Topic)
	for _, tell := range l.users {
		tell() // somebody may have waited for the topic
	}
}

// NodeName makes a name for a node of that of a camera.
func NodeName(camera string) string { return chunk(camera) }

// TopicName is the topic of a stream's pictures, below the namespace:
// CAMERA/STREAM/image_raw. What a ROS name may not have becomes _.
func TopicName(camera, stream string) string {
	return chunk(camera) + "/" + path(stream) + "/image_raw"
}

func path(stream string) string {
	b := []byte(stream)
	begin := 0
	out := ""
	for i := 0; i <= len(b); i++ {
		if i < len(b) && b[i] != '/' {
			continue
		}
		if out != "" {
			out += "/"
		}
		out += chunk(string(b[begin:i]))
		begin = i + 1
	}
	return out
}

// chunk keeps to what a chunk of a ROS name may be.
func chunk(s string) string {
	b := []byte(s)
	for i, c := range b {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			b[i] = '_'
		}
	}
	if len(b) == 0 || b[0] >= '0' && b[0] <= '9' {
		return "_" + string(b)
	}
	return string(b)
}
