// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package shm is the backend for processes of this host: they map the ring of
// the stream and read frames in place.
package shm

import (
	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/backend/local"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// Backend serves one stream. Set the fields of the server before use.
type Backend struct {
	local.Server
}

var _ backend.Backend = (*Backend)(nil)

// SetRing puts a new epoch in place of the one before, which it retires. nil
// ends the stream.
func (b *Backend) SetRing(r *ring.Ring) {
	if r == nil {
		b.SetEpoch(nil, nil)
		return
	}
	b.SetEpoch(&local.Epoch{Ring: r}, nil)
}

// Candidate implements backend.Backend.
func (b *Backend) Candidate() negotiate.Candidate {
	c := negotiate.Candidate{Backend: negotiate.BackendSHM}
	if b.Epoch() == nil {
		c.Reason, c.Detail = negotiate.ReasonNotReady, "the camera has not delivered a format yet"
	}
	return c
}
