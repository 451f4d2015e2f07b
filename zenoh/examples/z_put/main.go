// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Z_put puts a value.
package main

import (
	"context"
	"fmt"

	"github.com/seed-3c7e7623/camd/zenoh/examples/args"
)

func main() {
	e := args.New("z_put")
	key := e.StringP("key", "k", "demo/example/zenoh-go-put", "the key to write to")
	value := e.StringP("payload", "p", "Put from Go!", "the value to write")
	e.Main(func(ctx context.Context) error {
		fmt.Println("Opening session...")
		s, err := e.Open(ctx)
		if err != nil {
			return err
		}
		defer args.Close(s)
		fmt.Printf("Putting Data ('%s': '%s')...\n", *key, *value)
		return s.Put(ctx, *key, []byte(*value), nil)
	})
}
