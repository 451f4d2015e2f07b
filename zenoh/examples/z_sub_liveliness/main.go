// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Z_sub_liveliness shows which tokens appear and vanish.
package main

import (
	"context"
	"fmt"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/examples/args"
)

func main() {
	e := args.New("z_sub_liveliness")
	key := e.StringP("key", "k", "group1/**", "the key expression of the tokens")
	history := e.Bool("history", false, "show also the tokens that are there already")
	e.Main(func(ctx context.Context) error {
		fmt.Println("Opening session...")
		s, err := e.Open(ctx)
		if err != nil {
			return err
		}
		defer args.Close(s)
		fmt.Printf("Declaring Liveliness Subscriber on '%s'...\n", *key)
		w, err := s.SubscribeLiveliness(*key, &zenoh.LivelinessOptions{History: *history})
		if err != nil {
			return err
		}
		fmt.Println("Press CTRL-C to quit...")
		for v := range w.All(ctx) {
			if v.Kind == zenoh.Put {
				fmt.Printf(">> [LivelinessSubscriber] New alive token ('%s')\n", v.Key)
			} else {
				fmt.Printf(">> [LivelinessSubscriber] Dropped token ('%s')\n", v.Key)
			}
		}
		return nil
	})
}
