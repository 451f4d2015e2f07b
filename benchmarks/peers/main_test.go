// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == programWord { // cells run this binary again as their programs
		if err := serve(context.Background(), os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestPeersOfThisProgram(t *testing.T) {
	out := t.TempDir()
	s, err := parseSettings([]string{
		"-only", "tcp,unix,camd_shm", "-sizes", "8,4096", "-samples", "20", "-warmup", "2", "-spacing", "1ms",
		"-repeats", "1", "-seed", "7", "-machine", "here", "-o", out, "-for", "1ns",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	// The first call begins no cell, the second goes on.
	if err := compare(t.Context(), s, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(out, time.Now().Format("2006-01-02")+"-here")
	var text strings.Builder
	if err := compare(t.Context(), settings{Resume: dir}, &text, io.Discard); err != nil {
		t.Fatal(err)
	}
	st, err := openStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	if m := st.meta; m.Done != 6 || m.Cells != 6 || len(m.Failed) != 0 || len(m.Unsound) != 0 || len(m.Calls) != 2 || len(m.Peers) != 3 || m.Peers[0].Version == "" {
		t.Errorf("meta %+v", m)
	}
	for i, c := range s.plan() {
		m := st.cells[i]
		if m.cell != c || m.Received != 20 || len(m.Rows) != 6 {
			t.Errorf("cell %d: %+v, want the cell %+v with 20 payloads", i, m, c)
		}
		for _, r := range m.Rows {
			if r.Metric == publishCall && r.Dist.Count < 22+m.Dropped {
				t.Errorf("%s: %d published, at least 22 received and %d dropped", c.name(), r.Dist.Count, m.Dropped)
			}
			if r.Dropped != 0 && r.Dropped != m.Dropped {
				t.Errorf("%s: dropped %d and %d", c.name(), r.Dropped, m.Dropped)
			}
		}
		// A socket loses nothing.
		if c.Peer != "camd_shm" && m.Dropped != 0 {
			t.Errorf("%s: %d dropped", c.name(), m.Dropped)
		}
	}
	if !strings.Contains(text.String(), "6 of 6 cells in "+dir) {
		t.Errorf("said %q", text.String())
	}
	if left := st.missing(); len(left) != 0 {
		t.Errorf("missing %v", left)
	}
	// A folder is never used twice.
	if err := compare(t.Context(), s, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !exists(dir + "-2") {
		t.Errorf("no folder %s-2", dir)
	}
}

func TestPeerThatCannotBeSetUpIsLeftOut(t *testing.T) {
	k, err := newKit(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	k.cache = t.TempDir()
	t.Setenv("PATH", t.TempDir())
	launches, about := k.setup(t.Context(), []string{"unix", "iceoryx2", "python_dora", "gstreamer_shm", "camd_cpu"})
	if len(launches) != 1 || launches["unix"] == nil || about[0].LeftOut != "" {
		t.Errorf("set up %v; %+v", launches, about)
	}
	for i, want := range []string{"cargo is not there", "python3 is not there", "apt-cache is not there", "cargo is not there"} {
		if !strings.Contains(about[i+1].LeftOut, want) {
			t.Errorf("%s is left out because %q, want %q", about[i+1].Name, about[i+1].LeftOut, want)
		}
	}
}

func TestFailureOfAProgramSaysWhatItSaid(t *testing.T) {
	for _, c := range []struct {
		name, script string
		role         string
	}{
		{"publisher", "echo no room >&2; exit 3", "the publisher"},
		{"subscriber", "if [ $1 = publish ]; then echo ready; exec sleep 100; fi; echo no room >&2; exit 3", "the subscriber"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &launch{argv: []string{"sh", "-c", c.script, "sh"}, variant: "x", address: unixAddress}
			o := Options{Sizes: []int{8}, Samples: 1}
			_, err := measureCell(t.Context(), o, cell{"x", 8, 1}, l)
			if err == nil || !strings.Contains(err.Error(), c.role) || !strings.Contains(err.Error(), "exit status 3: no room") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestParseSettings(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-only tcp,camd_shm -sizes 8,40960000 -repeats 1", ""},
		{"", ""},
		{"-only nobody", "no peer is called"},
		{"-sizes 7", "from 8 on"},
		{"-sizes 99999999999", "no picture has this payload"},
		{"-samples 0", "from 1 to"},
		{"-repeats 0", "from 1 to"},
		{"-spacing 1h", "from 0 to"},
		{"more", "unexpected argument"},
	} {
		_, err := parseSettings(strings.Fields(c.args), io.Discard)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: error %v, want %q", c.args, err, c.want)
		}
	}
	var help strings.Builder
	if _, err := parseSettings([]string{"-h"}, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "-resume") {
		t.Errorf("error %v, help %q", err, help.String())
	}
}

func TestPlan(t *testing.T) {
	o := Options{Peers: []string{"a", "b", "c"}, Sizes: []int{8, 64, 512}, Repeats: 4, Seed: 1}
	plan := o.plan()
	seen := map[cell]bool{}
	for i, c := range plan {
		if seen[c] {
			t.Errorf("%v comes twice", c)
		}
		seen[c] = true
		if want := i/9 + 1; c.Repeat != want {
			t.Errorf("cell %d is of repeat %d, want %d", i, c.Repeat, want)
		}
	}
	if len(plan) != 36 || fmt.Sprint(plan) != fmt.Sprint(o.plan()) {
		t.Errorf("%d cells, or another order the second time", len(plan))
	}
	if first, second := fmt.Sprint(plan[:9]), fmt.Sprint(plan[9:18]); strings.ReplaceAll(first, " 1}", "") == strings.ReplaceAll(second, " 2}", "") {
		t.Error("two repeats have the same order")
	}
	o.Seed = 2
	if fmt.Sprint(plan) == fmt.Sprint(o.plan()) {
		t.Error("another seed, the same order")
	}
}
