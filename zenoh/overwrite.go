// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"slices"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
)

// overwrite changes how a sample of key goes out as the settings say
// (qos/publication).
func (s *Session) overwrite(key string, q *QoS, d *Locality) {
	for i := range s.cfg.Overwrites {
		o := &s.cfg.Overwrites[i]
		if slices.ContainsFunc(o.KeyExprs, func(k string) bool { return keyexpr.Includes(k, key) }) {
			overwriteWith(&o.Config, q, d)
			return
		}
	}
}

// overwriteWith takes names that were looked at when they were read.
func overwriteWith(c *config.PublishQoS, q *QoS, d *Locality) {
	switch c.Congestion {
	case "drop":
		q.Congestion = CongestionDrop
	case "block":
		q.Congestion = CongestionBlock
	case "block_first":
		q.Congestion = CongestionBlockFirst
	}
	if i := slices.Index(config.Priorities, c.Priority); i >= 0 {
		q.Priority = PriorityRealTime + Priority(i)
	}
	if c.Express != nil {
		q.Express = *c.Express
	}
	switch c.Reliability {
	case "reliable":
		q.Reliability = Reliable
	case "best_effort":
		q.Reliability = BestEffort
	}
	switch c.Destination {
	case "any":
		*d = LocalityAny
	case "remote":
		*d = LocalityRemote
	case "session_local":
		*d = LocalitySession
	}
}
