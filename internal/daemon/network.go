// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/backend/cpu"
	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// Network is how the daemon publishes streams for other hosts and for ROS 2.
type Network struct {
	// Zenoh is the settings of the session. A router that does not answer must
	// not end it (ExitOnFailure).
	Zenoh *config.Config
	// Expected: warn when no router answers.
	Expected bool

	Domain      int    // of ROS
	Namespace   string // of the nodes
	Enclave     string // of security
	Diagnostics bool   // publish /diagnostics
	// AnyHash publishes for subscribers with any hash of a type, also those of
	// Humble, which have none. No camera may then be transient local.
	AnyHash bool
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
	if !s.Info().Connected {
		level := slog.LevelInfo
		if n.Expected {
			level = slog.LevelWarn
		}
		args := []any{"endpoints", n.Zenoh.Connect.Endpoints}
		if err := s.Info().TryErr; err != nil {
			args = append(args, "reason", tryText(err))
		}
		n.log.Log(ctx, level, "no Zenoh router answers yet, looking again from time to time", args...)
	}
	n.link.Open(cpu.Zenoh(s))
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

// ZenohStatus is the session in the status document.
type ZenohStatus struct {
	State     string   `json:"state"` // connected, connecting, failed
	ZID       string   `json:"zid,omitempty"`
	Endpoints []string `json:"endpoints"`          // where a router is looked for
	Endpoint  string   `json:"endpoint,omitempty"` // of the connection
	Remote    string   `json:"remote,omitempty"`   // who is there
	Role      string   `json:"role,omitempty"`     // what that is
	Problem   string   `json:"problem,omitempty"`  // why there is no connection
	Losses    uint64   `json:"losses"`             // connections that ended
	Replaced  uint64   `json:"replaced"`           // samples that gave way to newer ones
	Domain    int      `json:"domain"`
	Namespace string   `json:"namespace"`
}

// The states of the session.
const (
	zenohConnected  = "connected"
	zenohConnecting = "connecting"
	zenohFailed     = "failed"
)

// tryText says why a try to connect failed, with the endpoint.
func tryText(err error) string {
	return strings.TrimPrefix(err.Error(), zenoh.ErrUnreachable.Error()+": ")
}

func (n *network) status() *ZenohStatus {
	n.mu.Lock()
	s, err := n.session, n.err
	n.mu.Unlock()
	out := &ZenohStatus{State: zenohConnecting, Endpoints: n.Zenoh.Connect.Endpoints, Domain: n.Domain, Namespace: cmp.Or(n.Namespace, "/")}
	switch {
	case err != nil:
		out.State, out.Problem = zenohFailed, err.Error()
		return out
	case s == nil:
		out.Problem = "no answer yet"
		return out
	}
	i := s.Info()
	out.ZID, out.Losses, out.Replaced = i.ZID.String(), i.Losses, i.Stats.Conflated+i.Stats.Dropped
	if i.Connected {
		out.State, out.Endpoint, out.Remote, out.Role = zenohConnected, i.Endpoint, i.Remote.String(), i.Role.String()
		return out
	}
	out.Problem = "no router answers"
	if i.TryErr != nil {
		out.Problem = tryText(i.TryErr)
	}
	if i.LastErr != nil {
		out.Problem += "; the last connection ended: " + i.LastErr.Error()
	}
	return out
}
