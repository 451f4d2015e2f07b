// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Z_sub shows what is put.
package main

import (
	"context"
	"fmt"

	"github.com/seed-3c7e7623/camd/zenoh/examples/args"
)

func main() {
	e := args.New("z_sub")
	key := e.StringP("key", "k", "demo/example/**", "the key expression to subscribe to")
	e.Main(func(ctx context.Context) error {
		fmt.Println("Opening session...")
		s, err := e.Open(ctx)
		if err != nil {
			return err
		}
		defer args.Close(s)
		fmt.Printf("Declaring Subscriber on '%s'...\n", *key)
		sub, err := s.Subscribe(*key, nil)
		if err != nil {
			return err
		}
		fmt.Println("Press CTRL-C to quit...")
		for v := range sub.All(ctx) {
			fmt.Printf(">> [Subscriber] Received %v ('%s': '%s')", v.Kind, v.Key, v.Payload)
			if v.Attachment != nil {
				fmt.Printf(" (%s)", v.Attachment)
			}
			fmt.Println()
			v.Release()
		}
		return nil
	})
}
