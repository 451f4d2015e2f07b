// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-3c7e7623/camd/internal/cli"
)

// switchWait bounds the subscription to one of the other streams.
const switchWait = 5 * time.Second

// errAlone: there is no other stream.
var errAlone = errors.New("there is no other stream")

// found is another stream, or why there is none.
type found struct {
	feed *feed
	err  error
}

// nextFeed subscribes to the stream that comes after current in the list, and to
// the one after that where it cannot be had.
func nextFeed(ctx context.Context, v *cli.Viewing, current string) found {
	names, err := v.Streams(ctx)
	if err != nil {
		return found{err: err}
	}
	failed := errAlone
	for _, name := range after(current, names) {
		limited, cancel := context.WithTimeout(ctx, switchWait)
		f, err := openFeed(limited, v, name)
		cancel()
		if err == nil {
			return found{feed: f}
		}
		if ctx.Err() != nil {
			return found{err: ctx.Err()}
		}
		failed = err
	}
	return found{err: failed}
}

// after is names in their order, from behind current on and round to it.
func after(current string, names []string) []string {
	at := slices.Index(names, current)
	if at < 0 {
		return names
	}
	return slices.Concat(names[at+1:], names[:at])
}
