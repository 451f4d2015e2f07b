// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Z_info shows whom the session is connected to.
package main

import (
	"context"
	"fmt"

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
		routers, peers := "", ""
		switch {
		case !i.Connected:
		case i.Role == wire.Router:
			routers = i.Remote.String()
		case i.Role == wire.Peer:
			peers = i.Remote.String()
		}
		fmt.Printf("zid: %v\nrouters zid: [%s]\npeers zid: [%s]\n", i.ZID, routers, peers)
		return nil
	})
}
