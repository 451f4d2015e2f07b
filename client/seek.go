// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/negotiate"
)

const (
	// leastAgain and mostAgain bound the time to the next attempt at a better
	// path when nothing changed in the runtime directories: the daemon that is
	// there may have room meanwhile.
	leastAgain = 2 * time.Second
	mostAgain  = 16 * time.Second
	// A path that lived for less than settledAfter makes one wary: a better one
	// is then taken only after leastWary, twice as long the next time, and at
	// most after mostWary.
	settledAfter = 10 * time.Second
	leastWary    = 2 * time.Second
	mostWary     = time.Minute
)

// drive runs a way. While that is cpu and a path of this host may come to be, it
// looks for one, and returns it when it has it.
func (s *Subscription) drive(ctx context.Context, way route) (better *connection, err error) {
	r, local := s.worse(way)
	if len(local) == 0 {
		return nil, way.run(ctx, s)
	}
	ctx, cancel := context.WithCancel(ctx)
	var seeking sync.WaitGroup
	seeking.Go(func() {
		if better = s.seek(ctx, r, local); better != nil {
			cancel()
		}
	})
	err = way.run(ctx, s)
	cancel()
	seeking.Wait()
	return better, err
}

// worse reports which better paths may come to be: with a topic that is a stream
// of this host's camd, or of one that nobody knows the host of.
func (s *Subscription) worse(way route) (*topicRoute, []negotiate.Backend) {
	r, ok := way.(*topicRoute)
	if !ok || r.target.info == nil || r.target.at.boot != "" && !r.target.at.same(here()) {
		return nil, nil
	}
	local, _ := s.opts.paths(false)
	return r, local
}

// seek waits for a path of this host. It looks at the runtime directories once a
// second, and asks a daemon when something changed there and else seldom. nil:
// ctx has ended.
func (s *Subscription) seek(ctx context.Context, r *topicRoute, local []negotiate.Backend) *connection {
	dirs := negotiate.ClientDirs(s.opts.dir)
	look := time.NewTicker(s.opts.lookEvery)
	defer look.Stop()
	seen, again := "", leastAgain
	var due time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-look.C:
			there, any := sockets(dirs)
			if there != seen {
				again, due = leastAgain, now
			}
			seen = there
			if now.Before(due) || now.Before(s.waryUntil) {
				continue
			}
			due, again = now.Add(again), min(2*again, mostAgain)
			if !any {
				due = now.Add(mostAgain) // nothing to ask
			}
			cn, err := connect(ctx, &s.opts, local, s.name)
			if err == nil {
				return cn
			}
			if ctx.Err() == nil && !errors.Is(err, errNotReady) {
				r.reasons(s.rejected(err, r.target.at))
			}
		}
	}
}

// sockets tells what is there of daemons' sockets, so that two looks can be
// compared. any: there is one, or it is not to be seen.
func sockets(dirs []string) (there string, any bool) {
	var b strings.Builder
	for _, dir := range dirs {
		var st unix.Stat_t
		err := unix.Stat(filepath.Join(dir, negotiate.SocketName), &st)
		if err == nil {
			fmt.Fprintf(&b, "%d %d %d.%d %o;", st.Dev, st.Ino, st.Ctim.Sec, st.Ctim.Nsec, st.Mode)
			any = true
			continue
		}
		fmt.Fprintf(&b, "%v;", err)
		any = any || !errors.Is(err, unix.ENOENT)
	}
	return b.String(), any
}

// reasons books why better paths are not to be had now, where that has changed.
func (r *topicRoute) reasons(rejected []negotiate.Rejected) {
	s := r.sub
	s.mu.Lock()
	same := slices.EqualFunc(r.path.Rejected, rejected, func(a, b negotiate.Rejected) bool { return a.Backend == b.Backend && a.Reason == b.Reason })
	r.path.Rejected = rejected
	if s.topic == r {
		s.path.Rejected = rejected
	}
	s.mu.Unlock()
	if same {
		return
	}
	s.opts.log.Info("better paths are still not to be had", "stream", s.stream, "backend", r.path.Backend, "rejected", negotiate.Summary(rejected))
	r.target.rejected = rejected
	if err := r.show(); err != nil {
		s.opts.log.Debug("the daemon is not told", "stream", s.stream, "err", err)
	}
}
