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
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/internal/bench"
)

// programWord as the first argument makes this program a publisher or subscriber.
const programWord = "program"

func main() {
	// Programs of cells die with the thread that started them.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) }) // a second Ctrl-C kills, timeout(1) signals twice
	if len(os.Args) > 1 && os.Args[1] == programWord {
		if err := serve(ctx, os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// command is the program: 0 done or stopped after a clean end, 1 failed, 2 wrong
// command line.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parseSettings(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "peers: %v\n", err)
		return 2
	}
	if err := compare(ctx, s, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "peers: %v\n", err)
		return 1
	}
	return 0
}

// compare sets peers up, runs the cells that are missing, and writes the files.
// When ctx is done it keeps what there is.
func compare(ctx context.Context, s settings, stdout, stderr io.Writer) (err error) {
	if s.List {
		for _, p := range peers {
			fmt.Fprintf(stdout, "%-18s %-7s %s\n", p.Name, p.Language, p.How)
		}
		return nil
	}
	k, err := newKit(stderr)
	if err != nil {
		return err
	}
	var st *store
	if s.Resume != "" {
		if st, err = openStore(s.Resume); err != nil {
			return err
		}
		s.Options = st.meta.Options
	}
	launches, about := k.setup(ctx, s.Peers)
	if s.Setup || ctx.Err() != nil {
		return ctx.Err()
	}
	if st == nil {
		if st, err = createStore(s.Out, s.Machine, s.Options, time.Now()); err != nil {
			return err
		}
	}
	st.meta.Peers = about
	if s.Note != "" {
		st.meta.Note = s.Note
	}
	call := callMeta{Commit: commit(k.root), Started: time.Now(), LoadBefore: bench.ReadHost().LoadBefore}
	call.Cells, err = runCells(ctx, s, st, launches, stderr)
	call.Ended, call.LoadAfter = time.Now(), bench.ReadHost().LoadBefore
	st.meta.Calls = append(st.meta.Calls, call)
	if err = errors.Join(err, st.write()); err != nil {
		return err
	}
	all := st.medians()
	fmt.Fprintln(stdout, table(st.meta.Options, all, bench.ReadyToUsable, "published → usable, µs, p50: median of repeats (smallest–largest)", func(m median) spread { return m.P50 }))
	fmt.Fprintln(stdout, table(st.meta.Options, all, bench.ReadyToRead, "published → every byte read, µs, p50: median of repeats (smallest–largest)", func(m median) spread { return m.P50 }))
	for _, f := range append(st.meta.Failed, st.meta.Unsound...) {
		fmt.Fprintf(stdout, "%s: %s\n", f.Cell, f.Reason)
	}
	fmt.Fprintf(stdout, "%d of %d cells in %s\n", len(st.cells), st.meta.Cells, st.dir)
	return nil
}

// setup sets the peers up. Those that cannot be are named, and left out.
func (k *kit) setup(ctx context.Context, names []string) (map[string]*launch, []peerMeta) {
	launches, about := map[string]*launch{}, []peerMeta{}
	for _, name := range names {
		p := peerByName(name)
		m := peerMeta{Name: p.Name, Language: p.Language, How: p.How}
		l, err := p.setup(ctx, k)
		if err != nil {
			m.LeftOut = strings.ReplaceAll(err.Error(), k.root+string(filepath.Separator), "")
			k.say("%s is left out: %s", name, m.LeftOut)
		} else {
			m.Version, launches[name] = l.version, l
		}
		about = append(about, m)
	}
	return launches, about
}

// runCells returns how many it ran.
func runCells(ctx context.Context, s settings, st *store, launches map[string]*launch, stderr io.Writer) (n int, err error) {
	missing := st.missing()
	began := time.Now()
	for i, c := range missing {
		l, ok := launches[c.Peer]
		if !ok {
			continue
		}
		if ctx.Err() != nil || s.For > 0 && time.Since(began) > s.For {
			break
		}
		m, err := measureCell(ctx, s.Options, c, l)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			m = &measured{cell: c, Started: time.Now(), Failed: err.Error()}
			fmt.Fprintf(stderr, "%s: %v\n", c.name(), err)
		}
		n++
		if err := st.add(m); err != nil {
			return n, err
		}
		if n%50 == 0 {
			fmt.Fprintf(stderr, "%d of %d cells, %v\n", i+1, len(missing), time.Since(began).Round(time.Second))
		}
	}
	return n, nil
}

// commit is what git says of the checkout; a "+" says that files have changed.
func commit(root string) string {
	head, err := exec.Command("git", "-C", root, "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return ""
	}
	id := strings.TrimSpace(string(head))
	changes, err := exec.Command("git", "-C", root, "status", "--porcelain", "--untracked-files=no").Output()
	if err != nil || len(changes) > 0 {
		id += "+"
	}
	return id
}
