// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Conditions that callers tell apart with errors.Is.
var (
	ErrNoDaemon      = errors.New("no camd found")         // exit 4
	ErrUnknownStream = errors.New("unknown stream")        // exit 4
	ErrNotAvailable  = errors.New("backend not available") // exit 5: required or no acceptable path, see RefusedError
	ErrPermission    = errors.New("not permitted")         // exit 5
	ErrStaleFrame    = errors.New("frame overwritten while held")
	ErrReleased      = errors.New("frame already released")
	ErrClosed        = errors.New("subscription closed")
	ErrProtocol      = errors.New("protocol violation by the daemon")
)

// RefusedError carries the daemon's words. It unwraps to one of the above.
type RefusedError struct {
	Stream  string
	Dir     string
	Refusal negotiate.Refusal
	kind    error
}

func (e *RefusedError) Error() string { return e.Refusal.Text }
func (e *RefusedError) Unwrap() error { return e.kind }

type Option func(*options)
type options struct{}

func WithRuntimeDir(dir string) Option         { return nil } // only this directory
func WithAccept(b ...negotiate.Backend) Option { return nil }
func WithRequire(b negotiate.Backend) Option   { return nil }
func WithCredit(n int) Option                  { return nil } // frames held at a time, default 2
func WithWake(k negotiate.WakeKind) Option     { return nil }
func WithLogger(l *slog.Logger) Option         { return nil } // decisions and changes of path go here; default slog.Default()
func WithName(program string) Option           { return nil }
func WithEvents(f func(Event)) Option          { return nil } // called from the subscription's goroutine

// Event is a change of a subscription: connected, disconnected, reconfigured, evicted, waiting.
type Event struct {
	Kind string
	Text string // for people
	Err  error
}

// Daemon is one running camd and its streams.
type Daemon struct {
	Dir string // its runtime directory
	negotiate.StreamList
}

func List(ctx context.Context, opts ...Option) ([]Daemon, error) { return nil, nil }

// Status fetches each daemon's status document.
func Status(ctx context.Context, opts ...Option) ([]json.RawMessage, error) { return nil, nil }

// Subscribe looks for the stream and agrees on a path. If the stream is known but its camera delivers
// nothing yet it succeeds, and Next waits.
func Subscribe(ctx context.Context, stream string, opts ...Option) (*Subscription, error) {
	return nil, nil
}

type Subscription struct{}

// Path says which way the frames come and why not a better one.
type Path struct {
	Backend  negotiate.Backend
	Wake     negotiate.WakeKind
	Rejected []negotiate.Rejected
	Dir      string
	Session  string
	Credit   int
}

type Stats struct {
	Taken      uint64 // frames handed to the program
	Missed     uint64 // frames published between them (sequence gaps within one session)
	Reconnects uint64
}

func (s *Subscription) Next(ctx context.Context) (Frame, error)            { return Frame{}, nil }
func (s *Subscription) Frames(ctx context.Context) iter.Seq2[Frame, error] { return nil }
func (s *Subscription) Info() negotiate.StreamInfo                         { return negotiate.StreamInfo{} }
func (s *Subscription) Path() Path                                         { return Path{} }
func (s *Subscription) Stats() Stats                                       { return Stats{} }
func (s *Subscription) Close() error                                       { return nil }

// Frame is a handle. It is a small value; methods on a released one return nil, zero or ErrReleased.
type Frame struct{}

func (f Frame) Data() []byte               { return nil } // read only, in the daemon's memory
func (f Frame) Meta() frame.Meta           { return frame.Meta{} }
func (f Frame) Geometry() frame.Geometry   { return frame.Geometry{} }
func (f Frame) Epoch() uint64              { return 0 }
func (f Frame) Session() frame.Session     { return frame.Session{} }
func (f Frame) HeldNanos() int64           { return 0 }   // CLOCK_MONOTONIC at which Next had it in hand
func (f Frame) Valid() error               { return nil } // nil, ErrStaleFrame or ErrReleased
func (f Frame) Release()                   {}
func (f Frame) Retain() (*Retained, error) { return nil, nil }

// Retained outlives the turn of the loop; it must be released by the program.
type Retained struct{ Frame }
