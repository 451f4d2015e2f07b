// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Command list shows every stream of every camd on this host:
//
//	go run ./examples/list
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/seed-3c7e7623/camd/client"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	daemons, err := client.List(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "list:", err)
		os.Exit(1)
	}
	for _, d := range daemons {
		for _, s := range d.Streams {
			fmt.Printf("%s\t%s\t%v\t%s\n", s.Name, s.State, s.Geometry, s.Source)
		}
	}
}
