// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// changed reports whether a change waits.
func changed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func fill(t testing.TB, c *Cache, all ...Entity) {
	t.Helper()
	for _, e := range all {
		if err := c.Add(e.Token()); err != nil {
			t.Fatal(err)
		}
	}
}

func names[T any](list []T, name func(T) string) string {
	var s []string
	for _, v := range list {
		s = append(s, name(v))
	}
	return strings.Join(s, " ")
}

func who(list []Entity) string {
	return names(list, func(e Entity) string { return fmt.Sprintf("%s#%d", e.FullNode(), e.ID) })
}

func TestCache(t *testing.T) {
	c := NewCache(0, nil)
	camera := NewNode(0, zidA, 0, "/robot", "camera")
	viewer := NewNode(0, "b2", 0, "/", "viewer")
	other := NewNode(0, "b2", 7, "", "viewer") // the same name in the same session
	const typ = "sensor_msgs/msg/Image"
	pub := camera.Publisher(1, "/image", typ, imageHash, SensorData())
	reliable := camera.Publisher(2, "/image", typ, imageHash, ReliableDepth(1))
	text := other.Publisher(8, "/image", "std_msgs/msg/String", stringHash, ReliableDepth(1))
	sub := viewer.Subscriber(1, "/image", typ, imageHash, SensorData())
	server, caller := camera, viewer
	server.Kind, server.ID, server.Topic, server.Type = KindServer, 3, "/calibrate", "std_srvs/srv/Trigger"
	caller.Kind, caller.ID, caller.Topic, caller.Type = KindClient, 2, "/calibrate", "std_srvs/srv/Trigger"

	if changed(c.Changed()) {
		t.Error("an empty cache has changed")
	}
	// An endpoint makes its node known.
	fill(t, c, pub, sub)
	if got := names(c.Nodes(), Node.FullName); got != "/robot/camera /viewer" {
		t.Errorf("nodes %s", got)
	}
	if n := c.Nodes()[0]; n.Declared || n.Enclave != "/" || who(n.Publishers) != "/robot/camera#1" {
		t.Errorf("node %+v", n)
	}
	fill(t, c, camera, viewer, other, reliable, text, server, caller)
	if !changed(c.Changed()) || changed(c.Changed()) {
		t.Error("many changes are not told as one")
	}
	s := c.Snapshot()
	if got := names(s.Nodes, Node.FullName); got != "/robot/camera /viewer /viewer" {
		t.Errorf("nodes %s", got)
	}
	topic, ok := s.Topic("/image")
	if d := cmp.Diff([]string{typ, "std_msgs/msg/String"}, topic.Types); !ok || d != "" {
		t.Errorf("types, -want +got:\n%s", d)
	}
	if got := who(c.Publishers("/image")); got != "/robot/camera#2 /robot/camera#1 /viewer#8" {
		t.Errorf("publishers %s", got)
	}
	if got := who(c.Subscribers("/image")); got != "/viewer#1" {
		t.Errorf("subscribers %s", got)
	}
	if len(s.Topics) != 1 { // a service is none
		t.Errorf("topics %+v", s.Topics)
	}
	if c.Publishers("/none") != nil {
		t.Error("somebody publishes an unknown topic")
	}
	for _, want := range []Entity{pub, sub, with(sub, func(e *Entity) { e.Backends = "" })} {
		if e, ok := s.ByGID(want.GID()); !ok || e.ID != want.ID || e.ZID != want.ZID {
			t.Errorf("by GID: %+v, %v, want %+v", e, ok, want)
		}
	}
	if c.Snapshot() != s {
		t.Error("a snapshot is made again without a change")
	}
	// The same token once more changes nothing, nor does one that was not there.
	fill(t, c, pub)
	c.Remove(NewNode(0, "c3", 0, "", "x").Token())
	c.Remove("garbage")
	if c.Snapshot() != s || changed(c.Changed()) {
		t.Error("changed by nothing")
	}
	// With a node goes what is still under it, and nothing else.
	c.Remove(camera.Token())
	if got := names(c.Nodes(), Node.FullName); got != "/viewer /viewer" || who(c.Publishers("/image")) != "/viewer#8" || !changed(c.Changed()) {
		t.Errorf("without the camera: nodes %s, publishers %s", got, who(c.Publishers("/image")))
	}
	c.Remove(pub.Token())
	// A node without a token of its own ends with its last endpoint.
	fill(t, c, reliable)
	c.Remove(reliable.Token())
	for _, e := range []Entity{text, other, caller, sub, viewer} {
		c.Remove(e.Token())
	}
	if st := c.Stats(); st.Tokens != 0 || st.Nodes != 0 || len(st.Refused) != 0 {
		t.Errorf("at the end %+v", st)
	}
	if s := c.Snapshot(); len(s.Nodes)+len(s.Topics) != 0 {
		t.Errorf("at the end %+v", s)
	}
	if who(s.Nodes[0].Publishers) != "/robot/camera#2 /robot/camera#1" {
		t.Error("an older snapshot has changed")
	}
}

func TestCacheRefuses(t *testing.T) {
	c := NewCache(0, &CacheOptions{MaxTokens: 2})
	good := golden[2].token
	for _, tc := range []struct {
		token string
		want  error
	}{
		{"@ros2_lv/0/x", ErrChunks},
		{"", ErrChunks},
		{strings.Replace(good, "/MP/", "/XX/", 1), ErrKind},
		{strings.Replace(good, "/0/1/", "/0/one/", 1), ErrNumber},
		{strings.Replace(good, "camera_driver", "camera-driver", 1), ErrName},
		{strings.Replace(good, "2::,5:", "9::,5:", 1), ErrQoS},
		{good + "/backends:cpu", ErrBackends},
		{strings.Replace(good, "/0/", "/1/", 1), ErrDomain},
		{good, nil},
		{golden[0].token, nil},
		{golden[1].token, ErrFull},
		{good, nil}, // is there already
	} {
		if err := c.Add(tc.token); !errors.Is(err, tc.want) {
			t.Errorf("%.100s: %v, want %v", tc.token, err, tc.want)
		}
	}
	want := CacheStats{Tokens: 2, Nodes: 2, Refused: map[string]uint64{
		"chunks": 2, "kind": 1, "number": 1, "name": 1, "qos": 1, "backends": 1, "domain": 1, "full": 1,
	}}
	if d := cmp.Diff(want, c.Stats()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	c.Remove(golden[0].token)
	if err := c.Add(golden[1].token); err != nil {
		t.Errorf("no room after one has gone: %v", err)
	}
}

// One cache can be of all domains: what has the same name in two is two.
func TestCacheOfAllDomains(t *testing.T) {
	c := NewCache(AnyDomain, nil)
	for _, domain := range []int{7, 0} {
		node := NewNode(domain, zidA, 0, "", "camera")
		fill(t, c, node, node.Publisher(1, "/image", "sensor_msgs/msg/Image", imageHash, SensorData()))
	}
	s := c.Snapshot()
	if len(s.Topics) != 2 || s.Topics[0].Domain != 0 || s.Topics[1].Domain != 7 || len(s.Topics[1].Publishers) != 1 || len(s.Nodes) != 2 {
		t.Errorf("%+v", s)
	}
	if topic, ok := s.Topic("/image"); !ok || topic.Domain != 0 {
		t.Errorf("found %+v", topic)
	}
	c.Remove(s.Topics[0].Publishers[0].Token())
	if s := c.Snapshot(); len(s.Topics) != 1 || s.Topics[0].Domain != 7 {
		t.Errorf("%+v", s.Topics)
	}
}

// TestCacheFromManySides changes the graph while others look at it; it is for
// the race detector.
func TestCacheFromManySides(t *testing.T) {
	c := NewCache(0, nil)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			node := NewNode(0, fmt.Sprintf("a%d", i), 0, "", "n")
			for k := range uint64(50) {
				p := node.Publisher(k+1, fmt.Sprintf("/t%d", k%5), "sensor_msgs/msg/Image", imageHash, SensorData())
				fill(t, c, node, p)
				if k%3 == 0 {
					c.Remove(p.Token())
				}
				if k%10 == 9 {
					c.Remove(node.Token())
				}
			}
		})
		wg.Go(func() {
			for range 50 {
				s := c.Snapshot()
				for _, topic := range s.Topics {
					for _, p := range topic.Publishers {
						if e, ok := s.ByGID(p.GID()); !ok || e != p {
							t.Errorf("%+v is found as %+v", p, e)
						}
					}
				}
				changed(c.Changed())
				c.Stats()
			}
		})
	}
	wg.Wait()
	if st := c.Stats(); st.Tokens != 0 || st.Nodes != 0 {
		t.Errorf("at the end %+v", st)
	}
}

// BenchmarkSnapshot makes a view of a large graph: 100 nodes with ten
// publishers each.
func BenchmarkSnapshot(b *testing.B) {
	c := NewCache(0, nil)
	for i := range 100 {
		node := NewNode(0, fmt.Sprintf("a%d", i), 0, "/ns", fmt.Sprintf("n%d", i))
		fill(b, c, node)
		for k := range uint64(10) {
			fill(b, c, node.Publisher(k+1, fmt.Sprintf("/ns/t%d", k), "sensor_msgs/msg/Image", imageHash, SensorData()))
		}
	}
	last := NewNode(0, "b", 0, "", "last")
	for b.Loop() {
		fill(b, c, last)
		c.Snapshot()
		c.Remove(last.Token())
	}
}
