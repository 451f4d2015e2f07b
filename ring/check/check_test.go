// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
)

// soak says whether the long explorations run too.
func soak() bool { return os.Getenv("CAMD_SOAK") == "1" }

// size is how long an exploration takes, and so when it runs.
type size int

const (
	small size = iota // always
	large             // not with -short, nor with the race detector, which has one goroutine to look at
	huge              // with CAMD_SOAK=1
)

func (s size) skip(t *testing.T) {
	t.Helper()
	switch {
	case s == huge && !soak():
		t.Skip("CAMD_SOAK=1 runs this")
	case s == large && (testing.Short() || raceDetector):
		t.Skip("left out with -short and with the race detector")
	}
}

func TestProtocolHolds(t *testing.T) {
	for _, tc := range []struct {
		name string
		size size
		cfg  Config
	}{
		{"one reader, credit 1, without end, kills, joins", small, Config{Readers: 1, Credit: 1, Kills: true, Joins: Endless}},
		{"one reader, credit 2, without end, kills, joins", small, Config{Readers: 1, Credit: 2, Kills: true, Joins: Endless}},
		{"one greedy reader, credit 1, without end", small, Config{Readers: 1, Credit: 1, Greedy: true, Kills: true}},
		{"one greedy reader, credit 2, without end", small, Config{Readers: 1, Credit: 2, Greedy: true}},
		{"one reader, evicted, without end", small, Config{Readers: 1, Credit: 1, Slots: 2, Evict: true, Kills: true}},
		{"two readers, two frames", small, Config{Frames: 2, Credit: 1, Kills: true}},
		{"two readers, the daemon dies", small, Config{Frames: 2, Credit: 1, OneThread: true, DaemonDies: true, Kills: true}},
		{"two readers, join and leave, two frames", large, Config{Frames: 2, Credit: 1, Joins: 1, Kills: true}},
		{"two readers, without end, kills, joins", large, Config{Credit: 1, OneThread: true, Kills: true, Joins: Endless}},
		{"two readers, two daemon threads, three frames, kills", large, Config{Frames: 3, Credit: 1, Kills: true}},
		{"two readers, evicted, four frames", large, Config{Frames: 4, Credit: 1, Slots: 2, Evict: true, OneThread: true}},
		{"two readers, two daemon threads, without end, kills", huge, Config{Credit: 1, Kills: true}},
		{"two greedy readers, without end", huge, Config{Credit: 1, Greedy: true, OneThread: true}},
		{"two readers, credit 2, four frames", huge, Config{Frames: 4, Credit: 2, OneThread: true}},
		{"two readers, evicted, without end, kills", huge, Config{Credit: 1, Slots: 3, Evict: true, OneThread: true, Kills: true}},
		{"two readers, the daemon dies, without end", huge, Config{Credit: 1, OneThread: true, DaemonDies: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.size.skip(t)
			tc.cfg.Eager = true // as package ring grants
			res, err := Run(t.Context(), tc.cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d states, %d steps, depth %d", res.States, res.Steps, res.Depth)
			if res.States < 500 {
				t.Errorf("only %d states: the model does not move", res.States)
			}
			runtime.GC()
		})
	}
}

// TestStrictGrantsHold explores the rule that design §5 words more strictly: no
// word waits for a reader that has taken its full credit. It is right as well,
// but skips readers, who then have to ask for the newest frame.
func TestStrictGrantsHold(t *testing.T) {
	large.skip(t)
	res, err := Run(t.Context(), Config{Credit: 1, OneThread: true, Kills: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d states, %d steps, depth %d", res.States, res.Steps, res.Depth)
}

func TestMutantsAreCaught(t *testing.T) {
	// Most show at once in the system that shows most.
	usual := Config{Credit: 1, OneThread: true, Kills: true, Joins: 1}
	pressure := Config{Frames: 4, Credit: 1, OneThread: true, Evict: true, Slots: 2}
	// The eager rule never skips a reader that keeps to its credit.
	greedy := Config{Readers: 1, Credit: 1, Greedy: true}
	other := map[Mutant]Config{
		BookAfterExchange:   {Frames: 3, Credit: 1, Kills: true},
		ReleaseUnchecked:    pressure,
		GenerationAtPublish: pressure,
		OneSlotFewer:        greedy,
	}
	eager := map[Mutant]Config{
		NoKick:                greedy,
		NoKickFlag:            greedy,
		NoRedrain:             greedy,
		RedrainBeforeKickFlag: greedy,
		NoGrantOnKick:         greedy,
		KickNotRearmed:        greedy,
		GrantAgain:            greedy,
	}
	if n := len(Mutants()); n < 14 {
		t.Fatalf("%d mutants, at least 14 are wanted", n)
	}
	for _, rule := range []string{"", ", eager"} {
		for _, mutant := range Mutants() {
			if rule != "" && mutant == KickBeforeHead {
				continue // no fault there: whoever was skipped has to return two words before it has credit
			}
			t.Run(mutant.String()+rule, func(t *testing.T) {
				cfg, ok := other[mutant]
				if !ok {
					cfg = usual
				}
				if rule != "" {
					if c, ok := eager[mutant]; ok {
						cfg = c
					}
					cfg.Eager = true
				}
				cfg.Mutant = mutant
				res, err := Run(t.Context(), cfg)
				var v *Violation
				if !errors.As(err, &v) {
					t.Fatalf("survived %d states (error: %v)", res.States, err)
				}
				if v.Property == "" || len(v.Trace) != res.Depth+1 {
					t.Errorf("property %q with a trace of %d steps at depth %d", v.Property, len(v.Trace), res.Depth)
				}
				t.Logf("%d states: %s", res.States, v.Property)
			})
		}
	}
}

// With readers that keep to their credit, one slot in flight, one retained
// and the credits are enough; the further slot per reader is for those that do
// not.
func TestSlotsNeeded(t *testing.T) {
	for _, tc := range []struct {
		name  string
		cfg   Config
		holds bool
	}{
		{"honest, one slot for each", Config{Readers: 1, Credit: 1, Slots: 3}, true},
		{"honest, one fewer", Config{Readers: 1, Credit: 1, Slots: 2}, false},
		{"greedy, formula", Config{Readers: 1, Credit: 1, Greedy: true}, true},
		{"greedy, one fewer", Config{Readers: 1, Credit: 1, Greedy: true, Slots: 3}, false},
		{"greedy, credit 2, formula", Config{Readers: 1, Credit: 2, Greedy: true}, true},
		{"greedy, credit 2, one fewer", Config{Readers: 1, Credit: 2, Greedy: true, Slots: 4}, false},
		{"two honest, two fewer than enough", Config{Credit: 1, Slots: 3, OneThread: true}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Run(t.Context(), tc.cfg)
			var v *Violation
			switch {
			case tc.holds && err != nil:
				t.Fatal(err)
			case !tc.holds && (!errors.As(err, &v) || !strings.HasPrefix(v.Property, "starvation")):
				t.Fatalf("no starvation with %d slots: %v", tc.cfg.Slots, err)
			}
		})
	}
}

func TestTraceTellsTheSteps(t *testing.T) {
	_, err := Run(t.Context(), Config{Readers: 1, Frames: 1, Credit: 1, Mutant: SleepWithoutRecheck})
	var v *Violation
	if !errors.As(err, &v) {
		t.Fatalf("no violation: %v", err)
	}
	text := v.Error()
	for _, want := range []string{
		"lost wake-up: reader 0 sleeps",
		"publisher: Publish 1; grant: exchange(mail of 0, 1) = 0",
		"reader 0: exchange(mail, 0) = 0",
		"reader 0: futex_wait: sleeps",
		"[newest=1 | r0 mail=1 W=1 held={1} reads={}",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("trace lacks %q:\n%s", want, text)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  Config
		want error
	}{
		{"no credit", Config{Frames: 1}, ErrConfig},
		{"too much credit", Config{Frames: 1, Credit: 3}, ErrConfig},
		{"negative frames", Config{Frames: -1, Credit: 1}, ErrConfig},
		{"three readers", Config{Readers: 3, Credit: 1}, ErrConfig},
		{"too many slots", Config{Credit: 1, Slots: 9}, ErrConfig},
		{"too many joins", Config{Credit: 1, Joins: 256}, ErrConfig},
		{"unknown mutant", Config{Credit: 1, Mutant: mutants}, ErrConfig},
		{"more states than allowed", Config{Credit: 1, MaxStates: 100}, ErrTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Run(t.Context(), tc.cfg); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Config{Credit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled context: got %v", err)
	}
}

func TestMutantNames(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range append(Mutants(), None) {
		name := m.String()
		if name == "" || seen[name] {
			t.Errorf("mutant %d has the name %q, which is empty or another's", m, name)
		}
		seen[name] = true
	}
	if got := mutants.String(); got != "unknown mutant" {
		t.Errorf("beyond the last: %q", got)
	}
}
