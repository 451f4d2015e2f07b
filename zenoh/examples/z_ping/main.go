// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Z_ping measures round trips to z_pong.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/examples/args"
)

func main() {
	e := args.New("z_ping")
	warmup := args.Number(e, "warmup", "w", 1.0, 0, 3600, "seconds to warm up")
	samples := args.Number(e, "samples", "n", 100, 0, 1<<24, "round trips to measure")
	noExpress := e.Bool("no-express", false, "let batches fill")
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
		sub, err := s.Subscribe("test/pong", nil)
		if err != nil {
			return err
		}
		p, err := s.Publisher("test/ping", &zenoh.PublisherOptions{QoS: zenoh.QoS{Congestion: zenoh.CongestionBlock, Express: !*noExpress}})
		if err != nil {
			return err
		}
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i % 10)
		}
		round := func() error {
			if err := p.Put(ctx, data, nil); err != nil {
				return err
			}
			v, err := sub.Receive(ctx)
			v.Release()
			return err
		}
		fmt.Printf("Warming up for %v...\n", time.Duration(*warmup*float64(time.Second)))
		for from := time.Now(); time.Since(from).Seconds() < *warmup; {
			if err := round(); err != nil {
				return err
			}
		}
		rtt := make([]int64, *samples)
		for i := range rtt {
			from := time.Now()
			if err := round(); err != nil {
				return err
			}
			rtt[i] = time.Since(from).Microseconds()
		}
		for i, t := range rtt {
			fmt.Printf("%d bytes: seq=%d rtt=%dµs lat=%dµs\n", size, i, t, t/2)
		}
		return nil
	})
}
