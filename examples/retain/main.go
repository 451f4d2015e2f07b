// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Command retain keeps the frame before the newest one and reports how many
// bytes changed between the two, in a second goroutine:
//
//	go run ./examples/retain test/color
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/seed-3c7e7623/camd/client"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: retain STREAM")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "retain:", err)
		os.Exit(1)
	}
}

func run(stream string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	// One frame in the loop, one kept from the turn before.
	sub, err := client.Subscribe(ctx, stream, client.WithCredit(2))
	if err != nil {
		return err
	}
	defer sub.Close()

	var before *client.Retained
	defer func() {
		if before != nil {
			before.Release()
		}
	}()
	for f, err := range sub.Frames(ctx) {
		if err != nil {
			return err
		}
		if before != nil {
			if before.Geometry() == f.Geometry() {
				fmt.Printf("frames %d and %d differ in %d bytes\n", before.Meta().Sequence, f.Meta().Sequence, differ(before.Data(), f.Data()))
			}
			before.Release()
			before = nil
		}
		// Without Retain the frame would go back at the end of this turn.
		if before, err = f.Retain(); err != nil {
			return err
		}
	}
	return nil
}

func differ(a, b []byte) int {
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}
