// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package net

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/seed-3c7e7623/camd/capture/pattern"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// watcherVariable makes this test binary a subscriber that says which frames it
// takes, a line each. camsub does not tell.
const watcherVariable = "CAMD_NET_WATCHER"

// watcherMain is the subscriber. Its lines are
//
//	path BACKEND REASONS
//	frame SEQUENCE SESSION DISCONTINUITY WHOLE BACKEND CAPTURED_NANOSECONDS AGE_MICROSECONDS
//	end TAKEN MISSED RECONNECTS
func watcherMain(args []string) int {
	fs := flag.NewFlagSet("watcher", flag.ContinueOnError)
	connect := fs.String("connect", "", "endpoint of Zenoh")
	accept := fs.String("accept", "", "backends")
	wait := fs.Bool("wait", false, "for a camd that is not there yet")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := watch(ctx, fs.Arg(0), *connect, *accept, *wait); err != nil {
		fmt.Fprintln(os.Stderr, "watcher:", err)
		return 1
	}
	return 0
}

func watch(ctx context.Context, stream, connect, accept string, wait bool) error {
	opts := []client.Option{client.WithEvents(func(e client.Event) { fmt.Fprintf(os.Stderr, "%s: %s\n", e.Kind, e.Text) })}
	if connect != "" {
		c := config.Client(connect)
		c.Connect.ExitOnFailure = false
		c.Connect.RetryInit, c.Connect.RetryMax = 50*time.Millisecond, 200*time.Millisecond
		opts = append(opts, client.WithZenoh(c))
	}
	if accept != "" {
		var list []negotiate.Backend
		for _, b := range strings.Split(accept, ",") {
			list = append(list, negotiate.Backend(b))
		}
		opts = append(opts, client.WithAccept(list...))
	}
	sub, err := client.Subscribe(ctx, stream, opts...)
	for wait && errors.Is(err, client.ErrNoDaemon) && ctx.Err() == nil {
		sub, err = client.Subscribe(ctx, stream, opts...)
	}
	if err != nil {
		return err
	}
	defer sub.Close()
	var path client.Path
	for {
		f, err := sub.Next(ctx)
		if errors.Is(err, context.Canceled) {
			break
		}
		if err != nil {
			return err
		}
		if now := sub.Path(); now.Backend != path.Backend {
			path = now
			var reasons []string
			for _, r := range path.Rejected {
				reasons = append(reasons, fmt.Sprintf("%s=%s", r.Backend, r.Reason))
			}
			fmt.Printf("path %s %s\n", path.Backend, strings.Join(reasons, " "))
		}
		m := f.Meta()
		_, torn := pattern.Verify(f.Geometry(), f.Data())
		age := time.Since(time.Unix(0, m.WallNanos)).Microseconds()
		fmt.Printf("frame %d %s %t %t %s %d %d\n", m.Sequence, f.Session(), m.Flags&frame.Discontinuity != 0, torn == nil, path.Backend, m.WallNanos, age)
		f.Release()
	}
	st := sub.Stats()
	fmt.Printf("end %d %d %d\n", st.Taken, st.Missed, st.Reconnects)
	return nil
}
