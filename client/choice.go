// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

// target is the topic that a subscription wants.
type target struct {
	topic  string
	domain int

	// Where a stream of camd is meant, and not the topic by its name:
	info     *negotiate.StreamInfo
	at       place  // where the camera is; zero: not known
	zid      string // of the Zenoh session that publishes it, "" if that is not known
	dir      string
	rejected []negotiate.Rejected // better paths, and why not
}

// of keeps those publishers that are meant. It may change the list.
func (t *target) of(publishers []graph.Entity) []graph.Entity {
	if t.zid == "" {
		return publishers
	}
	return slices.DeleteFunc(publishers, func(e graph.Entity) bool { return e.ZID != t.zid })
}

// choice is which messages of the topic are received: publishers of one topic
// can have several types, and of one type several hashes.
type choice struct {
	typ     string // sensor_msgs/msg/Image
	hash    string // "*": any, as long as nobody publishes
	latched bool   // a publisher keeps what it published
	node    string // of a publisher
}

// matches reports whether what e publishes is received.
func (c choice) matches(e *graph.Entity) bool {
	return e.Type == c.typ && (c.hash == "*" || hashOf(e) == c.hash)
}

func hashOf(e *graph.Entity) string { return cmp.Or(e.Hash, graph.HashNotSupported) }

// imageTypes are the types that are read, the preferred one first.
var imageTypes = []msg.Type{msg.TypeImage, msg.TypeCompressedImage}

func isImage(typ string) bool {
	return slices.ContainsFunc(imageTypes, func(t msg.Type) bool { return t.Name == typ })
}

// choose takes Image before CompressedImage, and of several hashes that of this
// program's definition before the one with the most publishers.
func choose(publishers []graph.Entity) (choice, bool) {
	for _, typ := range imageTypes {
		count := map[string]int{}
		for i := range publishers {
			if e := &publishers[i]; e.Type == typ.Name {
				count[hashOf(e)]++
			}
		}
		if len(count) == 0 {
			continue
		}
		c := choice{typ: typ.Name, hash: typ.Hash}
		if count[typ.Hash] == 0 {
			c.hash = slices.MaxFunc(slices.Sorted(maps.Keys(count)), func(a, b string) int { return count[a] - count[b] })
		}
		for i := range publishers {
			if e := &publishers[i]; c.matches(e) {
				c.latched = c.latched || e.QoS.Durability == graph.TransientLocal
				c.node = e.FullNode()
			}
		}
		return c, true
	}
	return choice{}, false
}

// unpublished is the choice where nobody publishes: by the convention of
// image_transport, the name says the type.
func unpublished(topic string) choice {
	typ := msg.TypeImage
	if strings.HasSuffix(topic, "/compressed") {
		typ = msg.TypeCompressedImage
	}
	return choice{typ: typ.Name, hash: "*"}
}

// publisherTokens is the key expression of the tokens of a topic's publishers.
func publisherTokens(t target) string {
	all := strings.TrimSuffix(graph.TokenPattern(t.domain), "**")
	return all + "*/*/*/" + graph.KindPublisher.String() + "/*/*/*/" + graph.Mangle(t.topic) + "/**"
}
