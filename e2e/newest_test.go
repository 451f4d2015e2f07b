// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/seed-3c7e7623/camd/client"
)

// TestEveryReaderEndsWithNewest lets the camera fall silent. Then the books
// must balance to the frame, and whoever waits must have been woken for the
// last one.
func TestEveryReaderEndsWithNewest(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "test=pattern,320x240@100,fault.stall=4s/1h")
	var readers []reader
	for i := range 8 {
		readers = append(readers, d.reader("-wake", []string{"futex", "pipe"}[i%2]))
	}
	for _, r := range readers {
		r.await(1)
	}
	eventually(t, "the camera is silent", func() (bool, string) {
		s := d.stream()
		return s.AgeMS > 1000, fmt.Sprintf("newest frame is %d ms old", s.AgeMS)
	})
	var s streamStatus
	eventually(t, "readers have taken what was granted", func() (bool, string) {
		s = d.stream()
		for _, r := range readers {
			b, _ := s.subscriber(r.pid())
			if b.Released+b.Overwritten != b.Granted {
				return false, fmt.Sprintf("%+v", b)
			}
		}
		return true, ""
	})
	newest := uint64(0)
	for i, r := range readers {
		b, _ := s.subscriber(r.pid())
		frames := r.frames()
		first, last := frames[0].seq, frames[len(frames)-1].seq
		count, missed, reconnects := r.end()
		if newest = max(newest, last); last != newest || b.Skipped != 0 || reconnects != 0 {
			t.Errorf("reader %d: last frame %d while another has %d, skipped %d, %d reconnects", i, last, newest, b.Skipped, reconnects)
		}
		if b.Granted != count+b.Overwritten {
			t.Errorf("reader %d: granted %d, took %d, overwritten %d", i, b.Granted, count, b.Overwritten)
		}
		if missed != last-first+1-count || missed > b.Overwritten+s.dropped() {
			t.Errorf("reader %d: frames %d to %d, took %d, missed %d; overwritten %d, dropped by the camera %d",
				i, first, last, count, missed, b.Overwritten, s.dropped())
		}
	}
	if newest+s.dropped() < s.Sequence {
		t.Errorf("newest frame taken is %d of %d", newest, s.Sequence)
	}
}

// TestSlowReaderTakesNewest has a reader at a fraction of the rate. Whatever it
// takes must be at least as new as what was known to be published before it
// asked; a second reader knows.
func TestSlowReaderTakesNewest(t *testing.T) {
	t.Parallel()
	for _, credit := range []int{1, 2, 3} {
		t.Run(fmt.Sprintf("credit %d", credit), func(t *testing.T) {
			t.Parallel()
			d := startDaemon(t, "test=pattern,320x240@60")
			ctx, cancel := context.WithTimeout(t.Context(), hung)
			defer cancel()
			// Subscribed first, so that a frame is granted to it before the other.
			slow := subscribe(t, ctx, d, client.WithCredit(credit))
			witness := subscribe(t, ctx, d)
			var newest atomic.Uint64
			moved := make(chan struct{}, 1)
			done := make(chan error, 1)
			go func() {
				for f, err := range witness.Frames(ctx) {
					if err != nil {
						done <- err
						return
					}
					newest.Store(f.Meta().Sequence)
					select {
					case moved <- struct{}{}:
					default:
					}
				}
			}()
			for range 12 {
				known := newest.Load()
				f, err := slow.Next(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if got := f.Meta().Sequence; got < known {
					t.Errorf("took frame %d when %d was published", got, known)
				}
				for until := newest.Load() + 10; newest.Load() < until; {
					select {
					case <-moved:
					case <-ctx.Done():
						t.Fatal("no frames any more")
					}
				}
				if err := f.Valid(); err != nil {
					t.Errorf("frame that is held: %v", err)
				}
				f.Release()
			}
			cancel()
			<-done
		})
	}
}

func subscribe(t *testing.T, ctx context.Context, d *daemon, opts ...client.Option) *client.Subscription {
	t.Helper()
	sub, err := client.Subscribe(ctx, "test/color", append(opts, client.WithRuntimeDir(d.dir))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sub.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return sub
}

// TestStoppedReaderContinuesWithNewest stops a reader. It may finish the frame
// that it had in hand, and then takes the newest, none of those between.
func TestStoppedReaderContinuesWithNewest(t *testing.T) {
	t.Parallel()
	for _, wake := range []string{"futex", "pipe"} {
		t.Run(wake, func(t *testing.T) {
			t.Parallel()
			d := startDaemon(t, "test=pattern,320x240@60")
			r := d.reader("-wake", wake)
			r.await(10)
			r.stop()
			d.advance(60)
			before := r.frames()
			last := before[len(before)-1].seq
			published := d.stream().Sequence
			r.signal(syscall.SIGCONT)
			after := r.await(len(before) + 5)[len(before):]
			old := 0
			for _, f := range after {
				if f.seq < published {
					old++
				}
			}
			if old > 1 {
				t.Errorf("after frame %d it took %d old frames, %+v, when %d was published", last, old, after, published)
			}
			if _, _, reconnects := r.end(); reconnects != 0 {
				t.Errorf("%d reconnects", reconnects)
			}
		})
	}
}
