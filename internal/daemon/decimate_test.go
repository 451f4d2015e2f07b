// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
)

// passed feeds stamps of a source and returns those that pass.
func passed(source, rate float64, stamps []int64) []int64 {
	d := decimator{period: int64(output{maxRate: rate}.period())}
	d.expect(int64(1e9 / source))
	var out []int64
	for _, s := range stamps {
		if d.pass(s) {
			out = append(out, s)
		}
	}
	return out
}

// steady is n stamps at a rate, each late by up to jitter.
func steady(n int, rate float64, jitter time.Duration) []int64 {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]int64, n)
	for i := range out {
		out[i] = 1e15 + int64(float64(i)*1e9/rate)
		if jitter > 0 {
			out[i] += r.Int64N(int64(jitter))
		}
	}
	return out
}

func TestDecimator(t *testing.T) {
	const n = 9000
	for _, c := range []struct {
		name         string
		source, most float64
		jitter       time.Duration
		want         int // frames of n, one more or less
		gap          int // fewest frames of the source between two that pass
	}{
		{"no limit", 30, 0, 0, n, 1},
		{"source is slower", 30, 60, 0, n, 1},
		{"as fast as the source", 30, 30, 0, n, 1},
		{"as fast as the source, jitter", 30, 30, 5 * time.Millisecond, n, 1},
		{"half", 30, 15, 0, n / 2, 2},
		{"half, jitter", 30, 15, 10 * time.Millisecond, n / 2, 2},
		{"third", 30, 10, 0, n / 3, 3},
		{"third, jitter", 30, 10, 5 * time.Millisecond, n / 3, 3},
		{"two of three", 30, 20, 0, n * 2 / 3, 1},
		{"five of six, jitter", 60, 50, 3 * time.Millisecond, n * 5 / 6, 1},
		{"fractions", 29.97, 7.3, time.Millisecond, 2192, 4},
		{"one in ten seconds", 30, 0.1, 0, n / 300, 300},
	} {
		t.Run(c.name, func(t *testing.T) {
			stamps := steady(n, c.source, c.jitter)
			got := passed(c.source, c.most, stamps)
			if len(got) > c.want+1 || len(got) < c.want-2 {
				t.Errorf("%d frames pass, want about %d", len(got), c.want)
			}
			if c.most == 0 {
				return
			}
			period := int64(output{maxRate: c.most}.period())
			slack := min(period, int64(1e9/c.source)) / 2
			for i := 1; i < len(got); i++ {
				if early := int64(i)*period - (got[i] - got[0]); early > slack {
					t.Fatalf("frame %d passes too early by %d ns, %d are allowed", i, early, slack)
				}
				if gap := slices.Index(stamps, got[i]) - slices.Index(stamps, got[i-1]); gap < c.gap {
					t.Fatalf("frame %d passes %d frames of the source after the one before, want at least %d", i, gap, c.gap)
				}
			}
		})
	}
}

func TestDecimatorAfterAPause(t *testing.T) {
	stamps := steady(600, 100, 0)
	for i := 300; i < 600; i++ {
		stamps[i] += int64(time.Hour)
	}
	got := passed(100, 10, stamps)
	if n := len(got); n < 60 || n > 62 {
		t.Errorf("%d frames pass of six seconds at 10 a second and a pause", n)
	}
	together := 0
	for i := 1; i < len(got); i++ {
		if got[i]-got[i-1] < int64(90*time.Millisecond) {
			together++
		}
	}
	if together > 1 {
		t.Errorf("%d frames pass early after the pause, want at most one", together)
	}
}

func TestDecimatorOfStampsThatJump(t *testing.T) {
	d := decimator{period: 100}
	for i, c := range []struct {
		stamp int64
		want  bool
	}{
		{1000, true},
		{1050, false},
		{1, false},
		{2, false},
		{60, true}, // back: time goes on from there
		{1 << 62, true},
		{1<<62 + 1, true},
		{1<<62 + 2, false},
		{-1 << 62, false},
		{0, true},
	} {
		if got := d.pass(c.stamp); got != c.want {
			t.Errorf("%d: stamp %d passes: %v, want %v", i, c.stamp, got, c.want)
		}
	}
}

// Streams of one camera leave the same pictures out, whichever of them has the
// others.
func TestStreamsLeaveTheSameOut(t *testing.T) {
	r := &rarer{decimator: decimator{period: 3}}
	n := 0
	for i := range int64(300) {
		st := capture.Stamp{CaptureNanos: 1000 + i, PublishNanos: 5000 + i}
		passed := r.pass(&st)
		if both := i%7 != 0; both && r.pass(&st) != passed {
			t.Fatalf("picture %d passes on one stream alone", i)
		}
		if passed {
			n++
		}
	}
	if n < 100 || n > 101 {
		t.Errorf("%d of 300 pictures passed, want a third", n)
	}
	alone := &rarer{decimator: decimator{period: 3}}
	n = 0
	for i := range int64(300) { // frames that are handed over by themselves
		if alone.pass(&capture.Stamp{CaptureNanos: 1000 + i}) {
			n++
		}
	}
	if n < 100 || n > 101 {
		t.Errorf("%d of 300 frames passed, want a third", n)
	}
}
