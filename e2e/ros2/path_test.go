// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ros2

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/pattern"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/cli"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// startCamd is a daemon that the test ends.
func startCamd(t *testing.T, router, camera string) (d *daemon.Daemon, stop func()) {
	t.Helper()
	spec, err := capture.ParseSpec(camera)
	if err != nil {
		t.Fatal(err)
	}
	z := config.Client(router)
	z.Connect.ExitOnFailure, z.Connect.RetryInit, z.Connect.RetryMax = false, 20*time.Millisecond, 20*time.Millisecond
	ready, over := make(chan struct{}), make(chan error, 1)
	d = &daemon.Daemon{
		Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Cameras: []capture.Spec{spec}, Ready: func(string) { close(ready) },
		Network: &daemon.Network{Zenoh: z},
	}
	run, cancel := context.WithCancel(context.Background())
	go func() { over <- d.Run(run) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	select {
	case <-ready:
	case <-ctx(t).Done():
		t.Fatal("camd does not begin")
	}
	await(t, d, "published", func(st daemon.Status) bool {
		return topic(st, "/front/color/image_raw").Topic != "" && st.Zenoh.State == "connected"
	})
	return d, stop
}

// follower takes frames and holds them against those before.
type follower struct {
	t    *testing.T
	s    *client.Subscription
	last frame.Meta
}

// by takes frames until some came by a backend: the first of them is marked, and
// all are newer than what came before by any path.
func (f *follower) by(b negotiate.Backend) {
	f.t.Helper()
	for n := 0; n < 5; {
		x := held(f.t, f.s)
		m := x.Meta()
		if _, err := pattern.Verify(x.Geometry(), x.Data()); err != nil {
			f.t.Error(err)
		}
		if m.WallNanos <= f.last.WallNanos {
			f.t.Errorf("a frame of %d after one of %d", m.WallNanos, f.last.WallNanos)
		}
		here := (m.ReadyNanos != 0) == (b == negotiate.BackendSHM) // which cpu does not tell
		was := (f.last.ReadyNanos != 0) == (b == negotiate.BackendSHM)
		if first := here && !was; first != (m.Flags&frame.Discontinuity != 0) && f.last.WallNanos != 0 && first {
			f.t.Errorf("the first frame by %s has the flags %v", b, m.Flags)
		}
		if here {
			n++
		}
		f.last = m
		x.Release()
	}
	if p := f.s.Path(); p.Backend != b {
		f.t.Errorf("by %+v", p)
	}
}

// TestPathIsChangedWhenAnotherCanBeHad goes from Zenoh to shared memory when the
// daemon's socket appears where it is looked for, back when that daemon makes
// room for one whose socket is elsewhere, and again to shared memory. Meanwhile
// list, info and hz of a program without a socket say what there is.
func TestPathIsChangedWhenAnotherCanBeHad(t *testing.T) {
	p := startPeer(t)
	const camera = "front=pattern,64x48@100,encoding=rgb8"
	first, stop := startCamd(t, p.endpoint, camera)
	dir := t.TempDir()
	socket := filepath.Join(dir, negotiate.SocketName)
	appears := func(d *daemon.Daemon) {
		if err := os.Symlink(filepath.Join(d.Dir, negotiate.SocketName), socket); err != nil {
			t.Fatal(err)
		}
	}
	changes := make(chan string, 100)
	s := reader(t, p, "front/color", client.WithRuntimeDir(dir), client.WithEvents(func(e client.Event) {
		if e.Kind == client.EventPathChanged {
			changes <- e.Text
		}
	}))
	changed := func(part string) {
		t.Helper()
		select {
		case text := <-changes:
			if !strings.Contains(text, part) {
				t.Errorf("told %q, want %q", text, part)
			}
		case <-ctx(t).Done():
			t.Fatalf("not told %q", part)
		}
	}
	f := &follower{t: t, s: s}
	f.by(negotiate.BackendCPU)
	if got := negotiate.Summary(s.Path().Rejected); got != "cuda: not_accepted, shm: socket_unreachable" {
		t.Errorf("not %s", got)
	}

	out := ""
	// The token takes its way by the router, and an answer may be a moment old.
	for end := ctx(t); end.Err() == nil; {
		if out, _ = camsub(t, p.endpoint, nil, "info", "front/color"); strings.Contains(out, "subscriber: ") {
			break
		}
	}
	for _, part := range []string{"size:        64x48\n", "encoding:    rgb8\n", "subscriber:  reader@", "  path:      cpu\n  not:       cuda: not_accepted, shm: socket_unreachable\n"} {
		if !strings.Contains(out, part) {
			t.Errorf("no %q in what is told:\n%s", part, out)
		}
	}
	out, _ = camsub(t, p.endpoint, nil, "list")
	if !strings.Contains(out, "front/color  running  64x48  rgb8      100   1            -    ") || !strings.Contains(out, "  cpu\n") {
		t.Errorf("listed:\n%s", out)
	}
	var none, errs bytes.Buffer
	args := []string{"hz", "front/color", "--require", "shm", "--connect", p.endpoint, "--domain", "0", "--runtime-dir", t.TempDir()}
	if code := cli.Execute(ctx(t), cli.NewCamsub(), args, &none, &errs); code != cli.ExitUnavailable || !strings.Contains(errs.String(), "socket_unreachable") || !strings.Contains(errs.String(), first.Dir) {
		t.Errorf("exit %d, %s", code, errs.String())
	}

	appears(first)
	changed("front/color comes by shm, not by cpu any more: camd in " + dir + " can be reached now")
	f.by(negotiate.BackendSHM)
	await(t, first, "who reads by shm is no visitor", func(st daemon.Status) bool {
		l := st.Streams[0].Subscribers
		return len(l) == 1 && l[0].Backend == negotiate.BackendSHM && !topic(st, "/front/color/image_raw").Matched
	})

	second, _ := startCamd(t, p.endpoint, camera)
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	f.by(negotiate.BackendSHM) // what runs, runs on
	stop()
	changed("front/color comes by cpu, not by shm any more: ")
	f.by(negotiate.BackendCPU)
	appears(second)
	changed("by shm, not by cpu any more")
	f.by(negotiate.BackendSHM)
	if st := s.Stats(); st.PathChanges != 3 || st.Ignored != nil {
		t.Errorf("%+v", st)
	}
}
