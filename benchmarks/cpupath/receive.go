// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// receiveClient is a program like any other that subscribes to a stream.
func receiveClient(ctx context.Context, j job) error {
	backend := negotiate.Backend(j.Backend)
	sub, err := client.Subscribe(ctx, j.Stream,
		client.WithRuntimeDir(j.Dir), client.WithAccept(backend), client.WithCredit(1), client.WithName("cpupath"),
		client.WithLogger(slog.New(slog.DiscardHandler)), client.WithZenoh(j.network()))
	if err != nil {
		return err
	}
	defer sub.Close()
	out, scratch := os.NewFile(3, "records"), make([]byte, recordBytes)
	fmt.Println("ready")
	for {
		f, err := sub.Next(ctx)
		if err != nil {
			return ended(ctx, err)
		}
		usable := linux.Monotonic()
		if b := sub.Path().Backend; b != backend {
			f.Release()
			return fmt.Errorf("frames come by %s, not by %s", b, backend)
		}
		err = tell(out, scratch, f.Data(), usable)
		f.Release()
		if err != nil {
			return ended(ctx, err)
		}
	}
}

// ended is nil where the parent ends a child.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
