// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// Topics lists the image topics that a Zenoh router or peers know, by domain and name:
// of the domain of [WithDomain] or $ROS_DOMAIN_ID, else of every one. It fails
// with [ErrNoRouter].
func Topics(ctx context.Context, opts ...Option) ([]Topic, error) {
	o := newOptions(opts)
	domain, known, err := o.rosDomain()
	if err != nil {
		return nil, err
	}
	l, err := process.connected(ctx, &o)
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
	topics, missing, left, err := topicsOf(ctx, l.session, key)
	o.incomplete("topics", missing)
	if left > 0 {
		o.event(EventIncomplete, nil, fmt.Sprintf("the list of topics is incomplete: %d tokens of nodes and endpoints were left out, of more than %d", left, graph.DefaultMaxTokens))
	}
	return topics, err
}

// topicsOf asks a session. What is no token of ROS is passed over; missing is who
// did not answer in time, left how many tokens there was no room for. That nobody
// answers is an error.
func topicsOf(ctx context.Context, s session, key string) (_ []Topic, missing []string, left int, _ error) {
	tokens, err := s.Tokens(ctx, key)
	if err != nil {
		o := s.Others()
		if missing = unansweredBy(err); len(missing) == 0 || len(tokens) == 0 && len(missing) == len(o.links) {
			return nil, nil, 0, unanswered(s, "asking for topics", err)
		}
	}
	all := graph.NewCache(graph.AnyDomain, nil)
	for _, token := range tokens {
		if errors.Is(all.Add(token), graph.ErrFull) {
			left++
		}
	}
	var out []Topic
	for _, t := range all.Topics() {
		for _, typ := range t.Types {
			if isImage(typ) {
				out = append(out, Topic{t.Domain, t.Name, typ, ends(t.Publishers, typ), ends(t.Subscribers, typ)})
			}
		}
	}
	slices.SortFunc(out, func(a, b Topic) int {
		return cmp.Or(cmp.Compare(a.Domain, b.Domain), strings.Compare(a.Name, b.Name), strings.Compare(a.Type, b.Type))
	})
	return out, missing, left, nil
}

// ends lists those of one type.
func ends(all []graph.Entity, typ string) []Endpoint {
	out := []Endpoint{}
	for i := range all {
		if e := &all[i]; e.Type == typ {
			out = append(out, Endpoint{e.FullNode(), e.GID().String(), hashOf(e), e.QoS.Describe(), e.Backends, e.ZID})
		}
	}
	return out
}
