// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// others are whom a session is connected to, and of whom more is expected.
type others struct {
	links    []zenoh.Link
	dialling []zenoh.ZID // were found, and are not connected yet
	looking  bool        // it is a peer: it may find more
}

// Others tells the state of the connections.
func (s realSession) Others() others {
	i := s.Info()
	return others{i.Links, i.Dialling, i.Mode == wire.Peer}
}

// maxNamed bounds the names of others in a text.
const maxNamed = 4

// linkName is the other side of a connection, for people: where it was reached,
// or who it is that came in.
func linkName(l *zenoh.Link) string {
	if l.Accepted {
		return fmt.Sprintf("the %v %v", l.Role, l.Remote)
	}
	return fmt.Sprintf("the %v at %s", l.Role, l.Endpoint)
}

// linkAt is the same for [Path].
func linkAt(l *zenoh.Link) string {
	if l.Accepted {
		return fmt.Sprintf("%v %v", l.Role, l.Remote)
	}
	return l.Endpoint
}

// pending names those who have not said all that they have.
func (o *others) pending() (names []string) {
	for i := range o.links {
		if l := &o.links[i]; !l.Told {
			names = append(names, linkName(l))
		}
	}
	for _, z := range o.dialling {
		names = append(names, fmt.Sprintf("the peer %v", z))
	}
	return names
}

// names are all who are connected.
func (o *others) names() (names []string) {
	for i := range o.links {
		names = append(names, linkName(&o.links[i]))
	}
	return names
}

// via is the connection by which what the session zid publishes comes: that to
// it, which is direct, else the one to a router, else the oldest.
func (o *others) via(zid string) (l *zenoh.Link, direct bool) {
	for i := range o.links {
		x := &o.links[i]
		if x.Remote.String() == zid {
			return x, true
		}
		if l == nil || x.Role == wire.Router && l.Role != wire.Router {
			l = x
		}
	}
	return l, false
}

// unanswered names who did not answer a question that ended with err.
func unansweredBy(err error) (names []string) {
	if u := new(zenoh.Unanswered); errors.As(err, &u) {
		for i := range u.By {
			names = append(names, linkName(&u.By[i]))
		}
	}
	return names
}

// together lists names, each once, and of many the first.
func together(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed:maxNamed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// met waits a little for the first connection of a session that looks for
// others. It fails as [link.connected] does.
func (l *link) met(ctx context.Context) error {
	return waitFor(ctx, meetWait, func() (bool, error) {
		err := l.connected()
		o := l.session.Others()
		return err == nil || !o.looking, err
	})
}

// waitFor asks again and again until done says so, or for so long.
func waitFor(ctx context.Context, most time.Duration, done func() (bool, error)) error {
	end := time.NewTimer(most)
	defer end.Stop()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		over, err := done()
		if over {
			return err
		}
		select {
		case <-again.C:
		case <-end.C:
			return err
		case <-ctx.Done():
			return err
		}
	}
}
