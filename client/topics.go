// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/ros2/graph"
)

// Topic is a ROS 2 image topic as the graph shows it: of the type
// sensor_msgs/msg/Image or CompressedImage. A name with publishers of both is
// two topics here.
type Topic struct {
	Domain      int        `json:"domain"`
	Name        string     `json:"topic"`
	Type        string     `json:"type"`
	Publishers  []Endpoint `json:"publishers"`
	Subscribers []Endpoint `json:"subscribers"`
}

// Endpoint is one publisher or subscriber of a topic.
type Endpoint struct {
	Node     string `json:"node"` // with its namespace
	GID      string `json:"gid"`
	Hash     string `json:"type_hash"` // "RIHS01_…", or TypeHashNotSupported of ROS 2 Humble
	QoS      string `json:"qos"`       // "best effort, volatile, keep last 5"
	Backends string `json:"backends,omitempty"`
	Session  string `json:"zenoh_id"`
}

// allTokens is the key expression of the tokens of every domain.
const allTokens = "@ros2_lv/*/**"

// maxTopics bounds what List remembers of a graph.
const maxTopics = 1 << 12

// Topics lists the image topics that a Zenoh router knows, by domain and name:
// of the domain of [WithDomain] or $ROS_DOMAIN_ID, else of every one. It fails
// with [ErrNoRouter].
func Topics(ctx context.Context, opts ...Option) ([]Topic, error) {
	o := newOptions(opts)
	domain, known, err := o.rosDomain()
	if err != nil {
		return nil, err
	}
	l, err := process.join(ctx, &o)
	if err != nil {
		return nil, err
	}
	defer l.leave()
	key := allTokens
	if known {
		key = graph.TokenPattern(domain)
	}
	ctx, cancel := context.WithTimeout(ctx, graphWait)
	defer cancel()
	return topicsOf(ctx, l.session, key)
}

// topicsOf asks a session. What is no token of ROS is passed over.
func topicsOf(ctx context.Context, s session, key string) ([]Topic, error) {
	tokens, err := s.Tokens(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("%w: asking for topics: %w", ErrNoRouter, err)
	}
	type id struct {
		domain    int
		name, typ string
	}
	all := map[id]*Topic{}
	slices.Sort(tokens)
	for _, token := range tokens {
		e, err := graph.ParseToken(token)
		if err != nil || !isImage(e.Type) || e.Kind != graph.KindPublisher && e.Kind != graph.KindSubscriber {
			continue
		}
		k := id{e.Domain, e.Topic, e.Type}
		t := all[k]
		if t == nil {
			if len(all) == maxTopics {
				continue
			}
			t = &Topic{Domain: e.Domain, Name: e.Topic, Type: e.Type, Publishers: []Endpoint{}, Subscribers: []Endpoint{}}
			all[k] = t
		}
		end := Endpoint{Node: e.FullNode(), GID: e.GID().String(), Hash: hashOf(&e), QoS: e.QoS.Describe(), Backends: e.Backends, Session: e.ZID}
		if e.Kind == graph.KindPublisher {
			t.Publishers = append(t.Publishers, end)
		} else {
			t.Subscribers = append(t.Subscribers, end)
		}
	}
	var out []Topic
	for _, t := range slices.Collect(maps.Values(all)) {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b Topic) int {
		if a.Domain != b.Domain {
			return a.Domain - b.Domain
		}
		return strings.Compare(a.Name+" "+a.Type, b.Name+" "+b.Type)
	})
	return out, nil
}
