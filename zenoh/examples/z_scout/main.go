// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Z_scout lists the routers and peers that answer within a second.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/examples/args"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

func main() {
	e := args.New("z_scout")
	hosts := e.StringArray("host", nil, "also ask at this `host`, or host:port")
	limit := e.Duration("time", time.Second, "how long to wait for answers")
	e.Main(func(ctx context.Context) error {
		c, err := e.Config()
		if err != nil {
			return err
		}
		fmt.Println("Scouting...")
		ctx, cancel := context.WithTimeout(ctx, *limit)
		defer cancel()
		seen := map[zenoh.ZID]bool{}
		return zenoh.Scout(ctx, c, []zenoh.Role{wire.Peer, wire.Router}, *hosts, func(h zenoh.Hello) {
			if !seen[h.ZID] {
				seen[h.ZID] = true
				fmt.Println(h)
			}
		})
	})
}
