// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Z_info shows whom the session is connected to.
package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-3c7e7623/camd/zenoh/examples/args"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

func main() {
	e := args.New("z_info")
	e.Main(func(ctx context.Context) error {
		fmt.Println("Opening session...")
		s, err := e.Open(ctx)
		if err != nil {
			return err
		}
		defer args.Close(s)
		i := s.Info()
		var routers, peers []string
		for _, l := range i.Links {
			switch l.Role {
			case wire.Router:
				routers = append(routers, l.Remote.String())
			case wire.Peer:
				peers = append(peers, l.Remote.String())
			}
		}
		fmt.Printf("zid: %v\nrouters zid: [%s]\npeers zid: [%s]\n", i.ZID, strings.Join(routers, ", "), strings.Join(peers, ", "))
		return nil
	})
}
