// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// ZenohStatus is the session in the status document.
type ZenohStatus struct {
	State     string   `json:"state"` // connected, connecting, alone, failed
	ZID       string   `json:"zid,omitempty"`
	Mode      string   `json:"mode"`               // as it is set: auto, client, peer
	As        string   `json:"as,omitempty"`       // what it is at the moment: client, peer
	Endpoints []string `json:"endpoints"`          // where a router is looked for
	Endpoint  string   `json:"endpoint,omitempty"` // of the connection; of several that to a router, else the oldest
	Remote    string   `json:"remote,omitempty"`   // who is there
	Role      string   `json:"role,omitempty"`     // what that is
	// Connections is how many there are, Links the first of them.
	Connections int         `json:"connections"`
	Links       []ZenohLink `json:"links,omitempty"`
	Listening   []string    `json:"listening,omitempty"` // where others reach camd
	Problem     string      `json:"problem,omitempty"`   // why there is no connection
	Losses      uint64      `json:"losses"`              // connections that ended
	Refused     uint64      `json:"refused,omitempty"`   // connections that were not let in
	Replaced    uint64      `json:"replaced"`            // samples that gave way to newer ones
	Domain      int         `json:"domain"`
	Namespace   string      `json:"namespace"`
	// Answered and Unanswered count questions for streams; those that are not
	// answered came while too many others waited.
	Answered   uint64 `json:"answered"`
	Unanswered uint64 `json:"unanswered,omitempty"`
	// Subscribers is how many on the network say that they are there, Unlisted
	// how many more tokens there were: too many, or malformed.
	Subscribers int    `json:"subscribers"`
	Unlisted    uint64 `json:"unlisted,omitempty"`
}

// ZenohLink is a connection of the session.
type ZenohLink struct {
	Remote   string `json:"remote"` // its id
	Role     string `json:"role"`   // router, peer, client
	Endpoint string `json:"endpoint"`
	Incoming bool   `json:"incoming,omitempty"`
}

// maxLinks is how many connections the status names.
const maxLinks = 16

// The states of the session.
const (
	zenohConnected  = "connected"
	zenohConnecting = "connecting"
	zenohAlone      = "alone" // a peer that nobody is connected with
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
	out := &ZenohStatus{
		State: zenohConnecting, Mode: n.Zenoh.Mode, Endpoints: n.Zenoh.Connect.Endpoints, Domain: n.Domain, Namespace: cmp.Or(n.Namespace, "/"),
	}
	if out.Endpoints == nil {
		out.Endpoints = []string{}
	}
	switch {
	case err != nil:
		out.State, out.Problem = zenohFailed, err.Error()
		return out
	case s == nil:
		out.Problem = "no answer yet"
		return out
	}
	i := s.Info()
	out.ZID, out.As, out.Losses, out.Replaced = i.ZID.String(), i.Mode.String(), i.Losses, i.Stats.Conflated+i.Stats.Dropped
	out.Refused, out.Listening, out.Connections = i.Refused, i.Listening, len(i.Links)
	for _, l := range i.Links[:min(len(i.Links), maxLinks)] {
		out.Links = append(out.Links, ZenohLink{Remote: l.Remote.String(), Role: l.Role.String(), Endpoint: l.Endpoint, Incoming: l.Accepted})
	}
	// A router that is only looked for is not missed.
	if i.Mode == wire.Peer && i.TryErr != nil && !slices.Equal(n.Zenoh.Connect.Endpoints, []string{zenoh.DefaultRouter}) {
		out.Problem = tryText(i.TryErr)
	}
	switch {
	case i.Connected:
		out.State, out.Endpoint, out.Remote, out.Role = zenohConnected, i.Endpoint, i.Remote.String(), i.Role.String()
		return out
	case i.Mode == wire.Peer:
		out.State = zenohAlone
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

// status adds what the announcer has done.
func (a *announcer) status(z *ZenohStatus) {
	z.Answered, z.Unanswered = a.answered.Load(), a.unanswered.Load()
	z.Subscribers, z.Unlisted = a.visitor.count()
}
