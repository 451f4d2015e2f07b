// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"testing"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// BenchmarkOwnWork is the product's way of a frame without any sleep or wake-up:
// acquire, publish, take and release in turn, on one core. It also reports what
// lies between the stamps ready and held.
func BenchmarkOwnWork(b *testing.B) {
	h, err := startHost(8, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer h.stop()
	ctx := context.Background()
	sub, err := client.Subscribe(ctx, fullName, client.WithRuntimeDir(h.dir), client.WithCredit(1),
		client.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		b.Fatal(err)
	}
	defer sub.Close()
	b.ReportAllocs()
	var between, publish int64
	err = h.do(func(w capture.Writer) {
		to := &camdTarget{w: w}
		for b.Loop() {
			if _, err := to.next(); err != nil {
				b.Error(err)
				return
			}
			begin := linux.Monotonic()
			to.publish(1)
			publish += linux.Monotonic() - begin
			f, err := sub.Next(ctx)
			held := linux.Monotonic()
			if err != nil {
				b.Error(err)
				return
			}
			between += held - f.Meta().ReadyNanos
			f.Release()
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(publish)/float64(b.N), "publish-ns")
	b.ReportMetric(float64(between)/float64(b.N), "ready-held-ns")
}

// BenchmarkClock is what one stamp costs on this host.
func BenchmarkClock(b *testing.B) {
	for b.Loop() {
		linux.Monotonic()
	}
}
