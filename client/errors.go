// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"strings"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// Conditions that callers tell apart with errors.Is.
var (
	// ErrNoDaemon: no camd answers in any runtime directory.
	ErrNoDaemon = errors.New("no camd found")
	// ErrConfig: the settings of Zenoh or of the ROS domain make no sense; of the
	// environment, or of the program.
	ErrConfig = errors.New("invalid configuration")
	// ErrNoRouter: no Zenoh router answers, through which ROS 2 topics come, and
	// no peer is found.
	ErrNoRouter = errors.New("no Zenoh router found")
	// ErrUnknownStream: a camd answers but has no such stream, or nobody
	// publishes such an image topic.
	ErrUnknownStream = errors.New("unknown stream")
	// ErrAmbiguous: several hosts have a stream of this name, and none is named.
	ErrAmbiguous = errors.New("ambiguous stream")
	// ErrNotAvailable: the stream is there, but not by any path that was
	// accepted or by the one that was required.
	ErrNotAvailable = errors.New("backend not available")
	// ErrPermission: this user may not use the daemon.
	ErrPermission = errors.New("not permitted")
	// ErrEvicted: the daemon ended the subscription because of what this
	// program did. It goes on once the frames at hand are released.
	ErrEvicted = errors.New("evicted by the daemon")
	// ErrStaleFrame: the frame's memory was reused while it was held, which
	// happens only after an eviction.
	ErrStaleFrame = errors.New("frame overwritten while held")
	// ErrReleased: the handle was released before.
	ErrReleased = errors.New("frame already released")
	// ErrClosed: the subscription was closed.
	ErrClosed = errors.New("subscription closed")
	// ErrProtocol: the daemon said or wrote what the protocol does not allow.
	ErrProtocol = errors.New("protocol violation by the daemon")
	// ErrLeaked: Close found frames that were never released.
	ErrLeaked = errors.New("frames not released")
)

// RefusedError carries the daemon's words. It unwraps to ErrUnknownStream,
// ErrNotAvailable, ErrPermission, ErrEvicted or ErrProtocol.
type RefusedError struct {
	Stream  string
	Dir     string // runtime directory of the daemon
	Refusal negotiate.Refusal
	kind    error
}

// Error is the daemon's text behind the condition, with the reason between them
// unless one of the two says it.
func (e *RefusedError) Error() string {
	reason := string(e.Refusal.Reason)
	text := strings.TrimPrefix(e.Refusal.Text, strings.ReplaceAll(reason, "_", " ")+": ")
	if e.kind == nil {
		return text
	}
	kind := e.kind.Error()
	if kind != strings.ReplaceAll(reason, "_", " ") && !strings.Contains(text, reason) {
		kind += " (" + reason + ")"
	}
	return kind + ": " + text
}

// Unwrap returns the condition.
func (e *RefusedError) Unwrap() error { return e.kind }

func refused(stream, dir string, r *negotiate.Refusal) *RefusedError {
	e := &RefusedError{Stream: stream, Dir: dir, Refusal: *r}
	switch r.Reason {
	case negotiate.ReasonUnknownStream:
		e.kind = ErrUnknownStream
	case negotiate.ReasonPermissionDenied, negotiate.ReasonPolicy:
		e.kind = ErrPermission
	case negotiate.ReasonTooSlow, negotiate.ReasonMisbehaved:
		e.kind = ErrEvicted
	case negotiate.ReasonProtocol:
		e.kind = ErrProtocol
	default:
		e.kind = ErrNotAvailable
	}
	return e
}
