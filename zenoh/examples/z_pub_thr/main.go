// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Z_pub_thr puts as fast as it can.
package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/examples/args"
)

func main() {
	e := args.New("z_pub_thr")
	priority := args.Number(e, "priority", "p", 5, 1, 7, "priority, 1 to 7")
	express := e.Bool("express", false, "do not let batches fill")
	show := e.BoolP("print", "t", false, "print the rate")
	number := args.Number(e, "number", "n", 100000, 1, math.MaxInt32, "messages in each measurement")
	e.Main(func(ctx context.Context) error {
		size, err := e.Size("PAYLOAD_SIZE")
		if err != nil {
			return err
		}
		s, err := e.Open(ctx)
		if err != nil {
			return err
		}
		defer args.Close(s)
		p, err := s.Publisher("test/thr", &zenoh.PublisherOptions{QoS: zenoh.QoS{
			Priority: zenoh.Priority(*priority), Congestion: zenoh.CongestionBlock, Express: *express,
		}})
		if err != nil {
			return err
		}
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i % 10)
		}
		// The payload never changes: it can go out of this memory each time.
		o := &zenoh.PutOptions{Release: func() {}}
		fmt.Println("Press CTRL-C to quit...")
		from := time.Now()
		for n := 1; ctx.Err() == nil; n++ {
			if err := p.Put(ctx, data, o); err != nil {
				return err
			}
			if n == *number {
				if *show {
					fmt.Printf("%v msg/s\n", float64(n)/time.Since(from).Seconds())
				}
				n, from = 0, time.Now()
			}
		}
		return nil
	})
}
