// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package backend is what the ways out have in common: the interface that the
// daemon drives and the words by which one declines. One sub-package a backend.
package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// ErrRemoved is the cause of a context that ends because the camera was taken
// out while the daemon runs on.
var ErrRemoved = errors.New("camera removed")

// ErrEnded is the cause of a context that ends because every camera has come to
// its end by itself.
var ErrEnded = errors.New("every camera has ended")

// Backend carries the frames of one stream to subscribers in one way.
type Backend interface {
	// Candidate says whether the backend could be offered now, and why not.
	Candidate() negotiate.Candidate
	// Serve offers the backend to the client that sent h, probes it, and if
	// that succeeds keeps the subscription until it is over. It returns a
	// DeclinedError, and leaves conn usable, if the next backend may be tried;
	// any other return means that the connection is finished with.
	Serve(ctx context.Context, conn *negotiate.Conn, h *negotiate.Hello, rejected []negotiate.Rejected) error
	// Wanted reports whether a frame published now would have a reader.
	Wanted() bool
	// Subscribers is a snapshot for status.
	Subscribers() []Subscriber
}

// DeclinedError is why a backend did not come about for one client.
type DeclinedError struct {
	negotiate.Rejected
}

// Declined makes a DeclinedError.
func Declined(b negotiate.Backend, r negotiate.Reason, format string, args ...any) error {
	return &DeclinedError{negotiate.Rejected{Backend: b, Reason: r, Detail: fmt.Sprintf(format, args...)}}
}

// Error names backend, reason and detail.
func (e *DeclinedError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Backend, e.Reason, e.Detail)
}

// Subscriber is one subscription in the status document. Of one on the network
// is known what it says: stream, backend, client, host and what it rejected.
type Subscriber struct {
	Stream      string            `json:"stream"`
	Backend     negotiate.Backend `json:"backend"`
	Wake        string            `json:"wake"`
	PID         int               `json:"pid"`
	UID         int               `json:"uid"`
	Command     string            `json:"command"`
	Client      string            `json:"client,omitempty"`
	Host        string            `json:"host,omitempty"` // of one on the network, as it says
	Since       time.Time         `json:"since"`
	Credit      int               `json:"credit"`
	Held        int               `json:"held"`
	OldestMS    int64             `json:"oldest_ms"`
	Granted     uint64            `json:"granted"`
	Overwritten uint64            `json:"overwritten"`
	Skipped     uint64            `json:"skipped"`
	Released    uint64            `json:"released"`
	// Hoarding is set when a frame has been held for longer than a second.
	Hoarding bool                 `json:"hoarding,omitempty"`
	Evicted  string               `json:"evicted,omitempty"`
	Rejected []negotiate.Rejected `json:"rejected,omitempty"`
}
