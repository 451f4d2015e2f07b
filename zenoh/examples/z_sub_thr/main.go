// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Z_sub_thr measures how fast samples of z_pub_thr arrive.
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
	e := args.New("z_sub_thr")
	samples := args.Number(e, "samples", "s", 10, 1, math.MaxInt32, "measurements")
	number := args.Number(e, "number", "n", 100000, 1, math.MaxInt32, "messages in each measurement")
	e.Main(func(ctx context.Context) error {
		s, err := e.Open(ctx)
		if err != nil {
			return err
		}
		defer args.Close(s)
		ctx, done := context.WithCancel(ctx)
		defer done()
		var first, from time.Time
		n, rounds := 0, 0
		sub, err := s.Subscribe("test/thr", &zenoh.SubscriberOptions{Handler: zenoh.Handler[zenoh.Sample]{Callback: func(v zenoh.Sample) {
			v.Release()
			switch {
			case rounds >= *samples:
				return
			case n == 0:
				from = time.Now()
				if first.IsZero() {
					first = from
				}
				n = 1
			case n < *number:
				n++
			default:
				fmt.Printf("%v msgs/s\n", float64(*number)/time.Since(from).Seconds())
				n = 0
				if rounds++; rounds >= *samples {
					done()
				}
			}
		}}})
		if err != nil {
			return err
		}
		fmt.Println("Press CTRL-C to quit...")
		<-ctx.Done()
		if err := sub.Close(); err != nil {
			return err
		}
		args.Close(s) // nothing calls back any more
		total, took := rounds*(*number)+n, time.Since(first).Seconds()
		if !first.IsZero() {
			fmt.Printf("Received %d messages over %.2fs: %.2fmsg/s\n", total, took, float64(total)/took)
		}
		return nil
	})
}
