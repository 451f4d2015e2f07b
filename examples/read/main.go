// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Command read subscribes to a stream and prints what it sees of each frame,
// without copying one:
//
//	go run ./examples/read test/color
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
		fmt.Fprintln(os.Stderr, "usage: read STREAM")
		os.Exit(2)
	}
	if err := read(os.Args[1]); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "read:", err)
		os.Exit(1)
	}
}

func read(stream string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	sub, err := client.Subscribe(ctx, stream)
	if err != nil {
		return err
	}
	defer sub.Close()

	for f, err := range sub.Frames(ctx) {
		if err != nil {
			return err
		}
		// f is valid in this turn of the loop and lies in the daemon's memory.
		m := f.Meta()
		sum := 0
		for _, b := range f.Data()[:f.Geometry().Step] {
			sum += int(b)
		}
		fmt.Printf("frame %d, %v, first row averages %d, %d us after it was ready\n",
			m.Sequence, f.Geometry(), sum/f.Geometry().Step, (f.HeldNanos()-m.ReadyNanos)/1000)
	}
	return nil
}
