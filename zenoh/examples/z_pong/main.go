// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Z_pong sends back what z_ping sends.
package main

import (
	"context"
	"fmt"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/examples/args"
)

func main() {
	e := args.New("z_pong")
	noExpress := e.Bool("no-express", false, "let batches fill")
	e.Main(func(ctx context.Context) error {
		s, err := e.Open(ctx)
		if err != nil {
			return err
		}
		defer args.Close(s)
		p, err := s.Publisher("test/pong", &zenoh.PublisherOptions{QoS: zenoh.QoS{Congestion: zenoh.CongestionBlock, Express: !*noExpress}})
		if err != nil {
			return err
		}
		sub, err := s.Subscribe("test/ping", nil)
		if err != nil {
			return err
		}
		fmt.Println("Press CTRL-C to quit...")
		for v := range sub.All(ctx) {
			// Out of the memory it came in, which goes back when it is sent.
			if err := p.Put(ctx, v.Payload, &zenoh.PutOptions{Release: v.Release}); err != nil {
				return err
			}
		}
		return nil
	})
}
