// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/backend/cpu"
	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// Network is how the daemon publishes streams for other hosts and for ROS 2.
type Network struct {
	// Zenoh is the settings of the session. A router that does not answer must
	// not end it (ExitOnFailure).
	Zenoh *config.Config
	// Expected: warn when there is nobody to be connected with.
	Expected bool

	Domain      int    // of ROS
	Namespace   string // of the nodes
	Enclave     string // of security
	Diagnostics bool   // publish /diagnostics
	// AnyHash publishes for subscribers with any hash of a type, also those of
	// Humble, which have none. No camera may then be transient local.
	AnyHash bool

	Access Access // what others on the network get to see
}

// network is the session while the daemon runs. It stays the same while routers
// come and go.
type network struct {
	Network
	link *cpu.Link
	log  *slog.Logger
	open chan struct{} // closed when opening is over

	mu      sync.Mutex
	session *zenoh.Session // nil: not (yet) there
	err     error          // why there will be none
}

// closeTime bounds what the end of the session may take: goodbyes are small, and
// frames that are still on their way are worth nothing.
const closeTime = 500 * time.Millisecond

func newNetwork(n Network, log *slog.Logger) *network {
	return &network{
		Network: n, log: log, open: make(chan struct{}),
		link: &cpu.Link{Domain: n.Domain, Namespace: n.Namespace, Enclave: n.Enclave, AnyHash: n.AnyHash},
	}
}

// run opens the session. It takes as long as the first try to connect does, and
// the session goes on trying by itself.
func (n *network) run(ctx context.Context) {
	defer close(n.open)
	s, err := zenoh.Open(ctx, n.Zenoh, &zenoh.Options{Logger: n.log})
	n.mu.Lock()
	n.session, n.err = s, err
	n.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			n.log.Error("nothing is published over Zenoh", "err", err)
		}
		n.link.Fail(err.Error())
		return
	}
	if i := s.Info(); !i.Connected {
		n.lonely(ctx, i)
	}
	n.link.Open(cpu.Zenoh(s))
}

// lonely says that nobody is connected. That is nothing to speak of for a peer,
// unless somebody is expected.
func (n *network) lonely(ctx context.Context, i zenoh.Info) {
	level, text := slog.LevelInfo, "no Zenoh router answers yet, looking again from time to time"
	if n.Expected {
		level = slog.LevelWarn
	}
	if i.Mode == wire.Peer {
		if text = "no Zenoh router answers and no peer is there yet, waiting for them"; !n.Expected {
			level = slog.LevelDebug
		}
	}
	args := []any{"endpoints", n.Zenoh.Connect.Endpoints}
	if err := i.TryErr; err != nil {
		args = append(args, "reason", tryText(err))
	}
	n.log.Log(ctx, level, text, args...)
}

// close ends the session, after everybody who uses it.
func (n *network) close() {
	<-n.open
	if s := n.current(); s != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		if err := s.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			n.log.Debug("Zenoh session closed", "err", err)
		}
	}
}

func (n *network) current() *zenoh.Session {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.session
}
