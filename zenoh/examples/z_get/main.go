// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Z_get asks queryables.
package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/examples/args"
)

func main() {
	e := args.New("z_get")
	selector := e.StringP("selector", "s", "demo/example/**", "what to ask for")
	value := e.StringP("payload", "p", "", "an optional value to send with the query")
	target := e.StringP("target", "t", "BEST_MATCHING", "BEST_MATCHING, ALL or ALL_COMPLETE")
	timeout := args.Number(e, "timeout", "o", 10000, 1, math.MaxInt32, "timeout in milliseconds")
	e.Main(func(ctx context.Context) error {
		o := &zenoh.GetOptions{Timeout: time.Duration(*timeout) * time.Millisecond}
		switch *target {
		case "BEST_MATCHING":
		case "ALL":
			o.Target = zenoh.All
		case "ALL_COMPLETE":
			o.Target = zenoh.AllComplete
		default:
			return fmt.Errorf("--target %s: want BEST_MATCHING, ALL or ALL_COMPLETE", *target)
		}
		if *value != "" {
			o.Payload = []byte(*value)
		}
		fmt.Println("Opening session...")
		s, err := e.Open(ctx)
		if err != nil {
			return err
		}
		defer args.Close(s)
		fmt.Printf("Sending Query '%s'...\n", *selector)
		replies, err := s.Get(ctx, *selector, o)
		if err != nil {
			return err
		}
		for r := range replies.All(ctx) {
			if r.Err != nil {
				fmt.Printf(">> Received (ERROR: '%s')\n", r.Err.Text)
			} else {
				fmt.Printf(">> Received ('%s': '%s')\n", r.Key, r.Payload)
			}
			r.Release()
		}
		return replies.Err()
	})
}
