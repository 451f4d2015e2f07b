// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Z_queryable answers queries.
package main

import (
	"context"
	"fmt"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/examples/args"
)

func main() {
	e := args.New("z_queryable")
	key := e.StringP("key", "k", "demo/example/zenoh-go-queryable", "the key expression to answer for")
	value := e.StringP("payload", "p", "Queryable from Go!", "the value to answer with")
	complete := e.Bool("complete", false, "say that the answers are complete")
	e.Main(func(ctx context.Context) error {
		fmt.Println("Opening session...")
		s, err := e.Open(ctx)
		if err != nil {
			return err
		}
		defer args.Close(s)
		fmt.Printf("Declaring Queryable on '%s'...\n", *key)
		x, err := s.Queryable(*key, &zenoh.QueryableOptions{Complete: *complete})
		if err != nil {
			return err
		}
		fmt.Println("Press CTRL-C to quit...")
		for q := range x.All(ctx) {
			if q.HasPayload {
				fmt.Printf(">> [Queryable ] Received Query '%v' with payload '%s'\n", q, q.Payload)
			} else {
				fmt.Printf(">> [Queryable ] Received Query '%v'\n", q)
			}
			fmt.Printf(">> [Queryable ] Responding ('%s': '%s')\n", *key, *value)
			if err := q.Reply(ctx, *key, []byte(*value), nil); err != nil {
				fmt.Printf(">> [Queryable ] Error sending reply: %v\n", err)
			}
			_ = q.Close()
		}
		return nil
	})
}
