// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/negotiate"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args  string
		check func(Options) bool
	}{
		"defaults": {"", func(o Options) bool {
			return len(o.Sizes) == 8 && len(o.Rates) == 4 && o.Repeats == full.Repeats && o.Out == "results"
		}},
		"quick": {"-quick", func(o Options) bool {
			return o.Quick && reflect.DeepEqual(o.Sizes, quick.Sizes) && o.Repeats == quick.Repeats
		}},
		"quick, longer": {"-duration 2s -quick", func(o Options) bool { return o.Duration == 2*time.Second && o.Repeats == quick.Repeats }},
		"lists": {"-sizes 8,64 -rates 30,b2b -wake pipe -readers 2", func(o Options) bool {
			return reflect.DeepEqual(o.Sizes, []int{8, 64}) && reflect.DeepEqual(o.Rates, []float64{30, 0}) &&
				reflect.DeepEqual(o.Wakes, []negotiate.WakeKind{negotiate.WakePipe}) && reflect.DeepEqual(o.Readers, []int{2})
		}},
		"repeated values": {"-sizes 8,8", func(o Options) bool { return reflect.DeepEqual(o.Sizes, []int{8}) }},
		"no fan-out":      {"-readers none", func(o Options) bool { return o.Readers == nil }},
		"seed":            {"-seed 5", func(o Options) bool { return o.Seed == 5 }},
		"seed of its own": {"", func(o Options) bool { return o.Seed != 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := parseOptions(strings.Fields(tc.args), nil)
			if err != nil {
				t.Fatal(err)
			}
			if !tc.check(o) {
				t.Errorf("%q gives %+v", tc.args, o)
			}
		})
	}
}

func TestWrongOptions(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"-sizes 0", "-sizes -8", "-sizes x", "-sizes 2147483649", "-sizes 65537", "-rates 0", "-rates 0.1", "-rates NaN", "-rates 1e9",
		"-wake eventfd", "-readers 0", "-readers 99", "-repeats 0", "-duration 0s", "more", "-unknown",
	} {
		if o, err := parseOptions(strings.Fields(args), nil); err == nil {
			t.Errorf("%q is accepted: %+v", args, o)
		}
	}
	var help strings.Builder
	if _, err := parseOptions([]string{"-h"}, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "-rates") {
		t.Errorf("help: %v %q", err, help.String())
	}
}

func TestPayloadIsLaidOutExactly(t *testing.T) {
	t.Parallel()
	for _, size := range append([]int{1, 7, 65_521, 6_220_800}, full.Sizes...) {
		g, err := geometryOf(size)
		if err != nil || g.Size() != size {
			t.Errorf("%d bytes: %v of %d bytes, %v", size, g, g.Size(), err)
		}
	}
}

func TestPlanIsThatOfTheSeed(t *testing.T) {
	t.Parallel()
	order := func(seed uint64) (names []string, cells int) {
		for _, g := range plan(Options{
			Sizes: full.Sizes, Rates: full.Rates, Readers: full.Readers, Repeats: 1, Duration: time.Second,
			Wakes: []negotiate.WakeKind{negotiate.WakeFutex, negotiate.WakePipe},
		}, rand.New(rand.NewPCG(seed, 1))) {
			names = append(names, g.String()+" "+string(g.cells[0].Wake))
			cells += len(g.cells)
		}
		return names, cells
	}
	a, n := order(1)
	b, _ := order(1)
	c, _ := order(2)
	if want := 2 * (8*4 + 4); n != want {
		t.Errorf("%d cells, want %d", n, want)
	}
	if !reflect.DeepEqual(a, b) || reflect.DeepEqual(a, c) {
		t.Errorf("orders of seeds 1, 1 and 2:\n%v\n%v\n%v", a, b, c)
	}
}

func TestResultsAreNeverOverwritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "handover")
	for _, want := range []string{path, path + "-2", path + "-3"} {
		got, err := newFolder(path)
		if err != nil || got != want {
			t.Errorf("folder %s, %v, want %s", got, err, want)
		}
	}
	if _, err := newFolder(filepath.Join(path, "missing", "parent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want that of a missing parent", err)
	}
}

func TestStolenShare(t *testing.T) {
	t.Parallel()
	before := parseTicks("cpu  100 0 50 800 10 0 5 35 7 0")
	after := parseTicks("cpu  150 0 50 840 10 0 5 45 9 0")
	if before.all != 1000 || before.stolen != 35 {
		t.Errorf("ticks %+v, want 1000 with 35 stolen", before)
	}
	if got := after.stolenSince(before); got != 0.1 {
		t.Errorf("stolen share %v, want 0.1", got)
	}
	for _, line := range []string{"", "cpu", "cpu a b c"} {
		if got := parseTicks(line).stolenSince(before); got != 0 {
			t.Errorf("%q: stolen share %v, want 0", line, got)
		}
	}
}

func TestRatiosPairBlocksOfARepeat(t *testing.T) {
	t.Parallel()
	c := &cellResult{}
	add := func(s side, repeat int, cpu int64) {
		c.blocks = append(c.blocks, &block{cell: cell{Readers: 1}, Side: s, Repeat: repeat, Published: 10, Seconds: 1, WriterCPU: cpu})
	}
	add(sideFloor, 0, 100)
	add(sideCamd, 0, 110)
	add(sideCamd, 1, 600)
	add(sideFloor, 1, 200)
	add(sideCamd, 2, 260)
	add(sideFloor, 2, 200)
	add(sideCamd, 3, 900) // its floor was not measured any more
	got, ok := c.ratio("writer_cpu_per_frame")
	want := ratio{Name: "writer_cpu_per_frame", Median: 1.3, Min: 1.1, Max: 3, Lower: 1.1, Upper: 3, Repeats: 3}
	if !ok || math2(got) != math2(want) {
		t.Errorf("ratio %+v, want %+v", got, want)
	}
	if _, ok := c.ratio("ready_to_held_p50"); ok {
		t.Error("a ratio of times that were not measured")
	}
}

// math2 rounds away what binary fractions cannot hold.
func math2(r ratio) ratio {
	for _, v := range []*float64{&r.Median, &r.Min, &r.Max, &r.Lower, &r.Upper} {
		*v = round(*v)
	}
	return r
}

func round(v float64) float64 { return float64(int(v*1000+0.5)) / 1000 }
