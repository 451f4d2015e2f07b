// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// DefaultCredit is how many frames a program may hold at a time: one in work
// and one retained.
const DefaultCredit = 2

type options struct {
	dir     string
	accept  []negotiate.Backend // none: the usual ones
	require negotiate.Backend
	device  DeviceImporter
	credit  int
	wake    negotiate.WakeKind
	log     *slog.Logger
	name    string
	events  func(Event)

	zenoh       *config.Config // nil: that of the environment
	session     *zenoh.Session // in place of one of our own
	domain      int            // of ROS; below 0: that of the environment
	unpublished bool
	noHistory   bool
	open        func(context.Context) (session, error) // in place of a Zenoh session
	clock       func() wallClock

	lookEvery time.Duration // between two questions to the network, and looks for a better path
	settled   time.Duration // a path that lived for less makes one wary of better ones

	reply time.Duration                                    // bounds a daemon's answer where the context does not
	pause func(ctx context.Context, until time.Time) error // before each attempt to connect again
}

// Option changes how List, Status and Subscribe work.
type Option func(*options)

func newOptions(opts []Option) options {
	o := options{
		credit: DefaultCredit,
		domain: -1,
		clock:  newWallClock,
		wake:   negotiate.WakeFutex,
		log:    slog.Default(),
		name:   filepath.Base(os.Args[0]),
		reply:  replyTimeout,

		lookEvery: lookEvery, settled: settledAfter,
		pause: pauseUntil,
	}
	for _, f := range opts {
		if f != nil {
			f(&o)
		}
	}
	o.credit = min(max(o.credit, 1), ring.MaxCredit)
	return o
}

// WithRuntimeDir looks for a daemon in this directory only. "" looks in the
// usual ones: $CAMD_RUNTIME_DIR, /run/camd, $XDG_RUNTIME_DIR/camd and
// /tmp/camd-<uid>.
func WithRuntimeDir(dir string) Option { return func(o *options) { o.dir = dir } }

// WithAccept names the paths that the program can use, in any order: the best
// one that can be had is taken. Default: shm and cpu for a stream, cpu for a
// topic; see also WithDevice. Accepting cuda implies cpu.
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

// WithEvents has f called at each change of a subscription, and with what List,
// Status and Topics leave out. It runs on the subscription's own goroutine and
// must not call Close.
func WithEvents(f func(Event)) Option { return func(o *options) { o.events = f } }

// WithZenoh sets how other hosts and ROS 2 topics are reached. Subscriptions with
// the same c share one session, which is opened with the first of them that needs
// it and closed with the last. Default: $ZENOH_SESSION_CONFIG_URI and
// $ZENOH_CONFIG_OVERRIDE; where they name neither a mode nor endpoints it is the
// client of a router at [DefaultRouter], else a peer that looks for others.
func WithZenoh(c *config.Config) Option { return func(o *options) { o.zenoh = c } }

// WithZenohSession uses a session of the program's, which stays open.
func WithZenohSession(s *zenoh.Session) Option { return func(o *options) { o.session = s } }

// WithDomain sets the ROS domain of topics. Default: $ROS_DOMAIN_ID, else 0.
func WithDomain(domain int) Option { return func(o *options) { o.domain = domain } }

// WithUnpublished subscribes to a topic also while nobody publishes it. Without
// it that is ErrUnknownStream.
func WithUnpublished() Option { return func(o *options) { o.unpublished = true } }

// WithoutHistory takes no frame that was published before: publishers of topics
// with the durability transient local are not asked for the newest.
func WithoutHistory() Option { return func(o *options) { o.noHistory = true } }

// EventKind is what happened to a subscription.
type EventKind string

// The kinds of events.
const (
	EventConnected    EventKind = "connected"    // frames can come
	EventPathChanged  EventKind = "path_changed" // frames come by another backend than before, and why
	EventDisconnected EventKind = "disconnected" // the daemon is gone; it is looked for
	EventEnded        EventKind = "ended"        // as disconnected, because every camera of the daemon came to its end
	EventReconfigured EventKind = "reconfigured" // another size or format
	EventEvicted      EventKind = "evicted"
	EventWaiting      EventKind = "waiting"    // not connected, and why
	EventIgnored      EventKind = "ignored"    // a message of the topic is no frame: the first for this reason
	EventClockStep    EventKind = "clock_step" // the system clock was set while frames come by cpu
	EventNoAnswer     EventKind = "no_answer"  // List and Status: a daemon is there, but does not answer
	EventIncomplete   EventKind = "incomplete" // Topics, Announced, Find: there are more than can be listed, or somebody does not answer
)

func (o *options) event(kind EventKind, err error, text string) {
	if o.events != nil {
		o.events(Event{Kind: kind, Err: err, Text: text})
	}
}

// Event is a change of a subscription.
type Event struct {
	Kind EventKind
	Text string // for people
	Err  error  // the cause, if there is one
}
