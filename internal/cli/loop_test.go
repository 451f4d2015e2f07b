// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"
	"testing"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/measure"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// endless gives the same frame again and again, a millisecond of its own clock
// apart, and allocates nothing.
type endless struct{ f fakeFrame }

func (e *endless) Next(context.Context) (heldFrame, error) {
	e.f.held += 1_000_000
	e.f.meta.ReadyNanos, e.f.meta.CaptureNanos = e.f.held-1000, e.f.held-2000
	return &e.f, nil
}
func (e *endless) Info() negotiate.StreamInfo { return e.f.stream.info }
func (e *endless) Path() client.Path          { return e.f.stream.path }
func (e *endless) Stats() client.Stats        { return client.Stats{} }
func (e *endless) Close() error               { return nil }

// The measured path allocates nothing per frame: a run of a thousand frames
// takes as many allocations as one of a hundred.
func TestLoopDoesNotAllocatePerFrame(t *testing.T) {
	for name, m := range map[string]meter{
		"hz":      &hzMeter{format: "json", rate: measure.NewRate(64)},
		"bw":      &bwMeter{format: "json", window: measure.NewBandwidth(64)},
		"delay":   &delayMeter{format: "json", realtime: now, delay: measure.NewDelay(64)},
		"latency": newLatencyMeter("csv", "r", "p"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newFake(t)
			sub := &endless{f: fakeFrame{
				stream: s, geometry: s.info.Geometry, data: make([]byte, s.info.Geometry.Size()), held: 1_000_000_000,
				meta: frame.Meta{Flags: frame.Pattern, DriverSequence: 5, Bytes: 1},
			}}
			rows(&sub.f, 5)
			limits := &limitFlags{verify: true}
			r := &runner{
				world: s.world(), stream: "test/color", limits: limits, sub: sub,
				stdout: io.Discard, notes: &notes{out: io.Discard, program: "camsub"}, meter: m,
			}
			loop := func(frames uint64) float64 {
				limits.count = frames
				return testing.AllocsPerRun(5, func() {
					if err := r.loop(t.Context()); err != nil {
						t.Fatal(err)
					}
				})
			}
			loop(100)
			// The run time allocates a little on its own, above all under the race
			// detector; one allocation a frame would make 900.
			if few, many := loop(100), loop(1000); many-few > 90 {
				t.Errorf("%v allocations for 100 frames, %v for 1000", few, many)
			}
			if bad := r.check.result(); bad.Torn != 0 || bad.Stale != 0 || bad.Frames < 1000 {
				t.Errorf("got %+v", bad)
			}
		})
	}
}
