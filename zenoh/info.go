// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// Link is an open connection.
type Link struct {
	Remote   ZID
	Role     Role   // of the other side
	Endpoint string // where it was reached, or where it came in
	Accepted bool   // it came in
	Told     bool   // the other side, a peer, has told all that it has
	QoS      bool   // priorities were agreed on
	// BatchSize is the most bytes of a batch, and so of a fragment.
	BatchSize int
	// Lease is the other side's: who hears nothing for so long gives it up.
	Lease time.Duration
	Stats Stats
}

// Info is the state of a session.
type Info struct {
	ZID       ZID
	Mode      Role // what the session is at the moment
	Connected bool
	// Of the connection, if there is one; of several that to a router, else the
	// oldest:
	Remote    ZID
	Role      Role
	Endpoint  string
	QoS       bool // priorities were agreed on
	BatchSize int
	// Lease is the other side's: who hears nothing for so long gives it up.
	Lease time.Duration

	Links     []Link   // all connections, the oldest first
	Listening []string // where others reach us
	Dialling  []ZID    // nodes that were found and are not connected yet

	Losses  uint64 // connections that ended
	LastErr error  // why the one before ended
	TryErr  error  // why the last try to connect to an endpoint failed; nil: it did not
	Unsent  uint64 // samples that were put while there was no connection
	Refused uint64 // connections that were not let in
	Stats   Stats  // of all connections together
}

// Info returns the state of the session.
func (s *Session) Info() Info {
	s.mu.Lock()
	i := Info{
		ZID: s.zid, Mode: s.Role(), Losses: s.reconnects, LastErr: s.lastErr, TryErr: s.tryErr, Unsent: s.unsent.Load(),
		Refused: s.refused.Load(), Stats: s.past, Listening: s.locatorsLocked(true),
	}
	open := s.open()
	told := make([]bool, len(open))
	for n, f := range open {
		told[n] = !f.mesh || f.complete
	}
	for z := range s.dialling {
		i.Dialling = append(i.Dialling, z)
	}
	s.mu.Unlock()
	for n, f := range open {
		l := f.link()
		l.Told, l.Stats = told[n], f.t.Stats()
		i.Links = append(i.Links, l)
		i.Stats.Add(l.Stats)
		if !i.Connected || l.Role == wire.Router && i.Role != wire.Router {
			i.Connected, i.Remote, i.Role, i.Endpoint = true, l.Remote, l.Role, l.Endpoint
			i.QoS, i.BatchSize, i.Lease = l.QoS, l.BatchSize, l.Lease
		}
	}
	return i
}
