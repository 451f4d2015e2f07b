// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Z_pub puts a value every second.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/examples/args"
)

func main() {
	e := args.New("z_pub")
	key := e.StringP("key", "k", "demo/example/zenoh-go-pub", "the key to write to")
	value := e.StringP("payload", "p", "Pub from Go!", "the value to write")
	attach := e.StringP("attach", "a", "", "the attachment to add to each put")
	matching := e.Bool("add-matching-listener", false, "report whether there are subscribers")
	e.Main(func(ctx context.Context) error {
		fmt.Println("Opening session...")
		s, err := e.Open(ctx)
		if err != nil {
			return err
		}
		defer args.Close(s)
		o := &zenoh.PublisherOptions{}
		if *matching {
			o.OnMatching = func(m bool) {
				if m {
					fmt.Println("Publisher has matching subscribers.")
				} else {
					fmt.Println("Publisher has NO MORE matching subscribers.")
				}
			}
		}
		fmt.Printf("Declaring Publisher on '%s'...\n", *key)
		p, err := s.Publisher(*key, o)
		if err != nil {
			return err
		}
		put := &zenoh.PutOptions{Encoding: zenoh.ParseEncoding("text/plain")}
		if *attach != "" {
			put.Attachment = []byte(*attach)
		}
		fmt.Println("Press CTRL-C to quit...")
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			v := fmt.Sprintf("[%4d] %s", i, *value)
			fmt.Printf("Putting Data ('%s': '%s')...\n", *key, v)
			if err := p.Put(ctx, []byte(v), put); err != nil && !errors.Is(err, zenoh.ErrNotConnected) {
				return err
			}
		}
	})
}
