// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Z_liveliness declares a liveliness token until Ctrl-C.
package main

import (
	"context"
	"fmt"

	"github.com/seed-3c7e7623/camd/zenoh/examples/args"
)

func main() {
	e := args.New("z_liveliness")
	key := e.StringP("key", "k", "group1/zenoh-go", "the key of the token")
	e.Main(func(ctx context.Context) error {
		fmt.Println("Opening session...")
		s, err := e.Open(ctx)
		if err != nil {
			return err
		}
		defer args.Close(s)
		fmt.Printf("Declaring LivelinessToken on '%s'...\n", *key)
		t, err := s.Token(*key)
		if err != nil {
			return err
		}
		fmt.Println("Press CTRL-C to undeclare LivelinessToken and quit...")
		<-ctx.Done()
		fmt.Println("Undeclaring LivelinessToken...")
		return t.Close()
	})
}
