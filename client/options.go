// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// DefaultCredit is how many frames a program may hold at a time: one in work
// and one retained.
const DefaultCredit = 2

type options struct {
	dir     string
	accept  []negotiate.Backend
	require negotiate.Backend
	credit  int
	wake    negotiate.WakeKind
	log     *slog.Logger
	name    string
	events  func(Event)

	reply time.Duration                                    // bounds a daemon's answer where the context does not
	pause func(ctx context.Context, until time.Time) error // before each attempt to connect again
}

// Option changes how List, Status and Subscribe work.
type Option func(*options)

func newOptions(opts []Option) options {
	o := options{
		accept: []negotiate.Backend{negotiate.BackendSHM},
		credit: DefaultCredit,
		wake:   negotiate.WakeFutex,
		log:    slog.Default(),
		name:   filepath.Base(os.Args[0]),
		reply:  replyTimeout,
		pause:  pauseUntil,
	}
	for _, f := range opts {
		if f != nil {
			f(&o)
		}
	}
	if o.require != "" && !slices.Contains(o.accept, o.require) {
		o.accept = append(slices.Clone(o.accept), o.require) // to require is to accept
	}
	o.credit = min(max(o.credit, 1), ring.MaxCredit)
	return o
}

// WithRuntimeDir looks for a daemon in this directory only. "" looks in the
// usual ones: $CAMD_RUNTIME_DIR, /run/camd, $XDG_RUNTIME_DIR/camd and
// /tmp/camd-<uid>.
func WithRuntimeDir(dir string) Option { return func(o *options) { o.dir = dir } }

// WithAccept names the paths that the program can use. Default: shm. Accepting
// cuda implies cpu.
func WithAccept(b ...negotiate.Backend) Option {
	return func(o *options) {
		if len(b) > 0 {
			o.accept = b
		}
	}
}

// WithRequire fails with ErrNotAvailable where b cannot be had, instead of
// taking another path. "" requires nothing.
func WithRequire(b negotiate.Backend) Option { return func(o *options) { o.require = b } }

// WithCredit sets how many frames the program may hold at a time, 1 to
// ring.MaxCredit; each costs the daemon memory for one frame.
func WithCredit(n int) Option { return func(o *options) { o.credit = n } }

// WithWake chooses the wake-up: futex (default, one system call wakes all
// readers) or pipe (no thread blocked while waiting).
func WithWake(k negotiate.WakeKind) Option {
	return func(o *options) {
		if k != "" {
			o.wake = k
		}
	}
}

// WithLogger sets where decisions and changes of path are logged. Default:
// slog.Default().
func WithLogger(l *slog.Logger) Option {
	return func(o *options) {
		if l != nil {
			o.log = l
		}
	}
}

// WithName sets the program's name in the daemon's status.
func WithName(program string) Option {
	return func(o *options) {
		if program != "" {
			o.name = program
		}
	}
}

// WithEvents has f called at each change of a subscription. It runs on the
// subscription's own goroutine and must not call Close.
func WithEvents(f func(Event)) Option { return func(o *options) { o.events = f } }

// EventKind is what happened to a subscription.
type EventKind string

// The kinds of events.
const (
	EventConnected    EventKind = "connected"    // frames can come
	EventDisconnected EventKind = "disconnected" // the daemon is gone; it is looked for
	EventEnded        EventKind = "ended"        // as disconnected, because every camera of the daemon came to its end
	EventReconfigured EventKind = "reconfigured" // another size or format
	EventEvicted      EventKind = "evicted"
	EventWaiting      EventKind = "waiting" // not connected, and why
)

// Event is a change of a subscription.
type Event struct {
	Kind EventKind
	Text string // for people
	Err  error  // the cause, if there is one
}
