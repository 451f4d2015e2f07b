// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// helperVariable makes this test binary a subscriber that says which frames it
// takes, a line each. camsub does not tell.
const helperVariable = "CAMD_E2E_HELPER"

// helperMain is the subscriber. Its lines are
//
//	frame SEQUENCE SESSION EPOCH DISCONTINUITY
//	holding N
//	end TAKEN MISSED RECONNECTS
func helperMain(args []string) int {
	if len(args) > 0 && gpuHelpers[args[0]] != nil {
		if err := gpuHelpers[args[0]](args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "helper:", err)
			return 1
		}
		return 0
	}
	fs := flag.NewFlagSet("helper", flag.ContinueOnError)
	wake := fs.String("wake", "futex", "")
	credit := fs.Int("credit", client.DefaultCredit, "")
	hold := fs.Int("hold", 0, "keep so many frames and stop")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := helperSubscribe(ctx, *wake, *credit, *hold); err != nil {
		fmt.Fprintln(os.Stderr, "helper:", err)
		return 1
	}
	return 0
}

func helperSubscribe(ctx context.Context, wake string, credit, hold int) error {
	sub, err := client.Subscribe(ctx, "test/color", client.WithWake(negotiate.WakeKind(wake)), client.WithCredit(credit))
	if err != nil {
		return err
	}
	defer sub.Close()
	var kept []client.Frame
	for {
		f, err := sub.Next(ctx)
		if errors.Is(err, context.Canceled) {
			break
		}
		if err != nil {
			return err
		}
		tell(f)
		if hold == 0 {
			f.Release()
			continue
		}
		if kept = append(kept, f); len(kept) == hold {
			fmt.Printf("holding %d\n", hold)
			<-ctx.Done()
			break
		}
	}
	for _, f := range kept {
		if err := f.Valid(); err != nil {
			return err
		}
		f.Release()
	}
	tellEnd(sub.Stats())
	return nil
}

// tell writes the line of a frame, tellEnd the last one.
func tell(f client.Frame) {
	m := f.Meta()
	fmt.Printf("frame %d %s %d %t\n", m.Sequence, f.Session(), f.Epoch(), m.Flags&frame.Discontinuity != 0)
}

func tellEnd(st client.Stats) { fmt.Printf("end %d %d %d\n", st.Taken, st.Missed, st.Reconnects) }

// taken is a line about a frame.
type taken struct {
	seq, epoch uint64
	session    string
	broken     bool
}

// reader is a helper process.
type reader struct{ *process }

// reader starts a helper that subscribes to test/color.
func (d *daemon) reader(args ...string) reader {
	d.t.Helper()
	self, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	return reader{start(d.t, []with{withEnv("CAMD_RUNTIME_DIR="+d.dir, helperVariable+"=1")}, self, args...)}
}

// frames are those taken so far, in order.
func (r reader) frames() []taken {
	r.t.Helper()
	var out []taken
	s := r.out.String()
	s = s[:strings.LastIndexByte(s, '\n')+1]
	for _, line := range strings.Split(s, "\n") {
		var f taken
		if _, err := fmt.Sscanf(line, "frame %d %s %d %t", &f.seq, &f.session, &f.epoch, &f.broken); err == nil {
			out = append(out, f)
		}
	}
	return out
}

// await waits until it took so many frames in all.
func (r reader) await(n int) []taken {
	r.t.Helper()
	var got []taken
	eventually(r.t, fmt.Sprintf("reader takes %d frames", n), func() (bool, string) {
		if got = r.frames(); len(got) < n && r.ended() {
			r.t.Fatalf("reader ended after %d frames: %s", len(got), r.err.String())
		}
		return len(got) >= n, fmt.Sprint(len(got))
	})
	return got
}

// end interrupts it and returns what it counted.
func (r reader) end() (count, missed, reconnects uint64) {
	r.t.Helper()
	r.interrupt()
	for _, line := range strings.Split(r.out.String(), "\n") {
		if _, err := fmt.Sscanf(line, "end %d %d %d", &count, &missed, &reconnects); err == nil {
			return count, missed, reconnects
		}
	}
	r.t.Fatalf("reader without an end:\n%s", proctest.Tail(r.out.String()))
	return 0, 0, 0
}

// checkOrder holds frames against the rules of continuity: sequences grow
// within a session, a new session is marked, and no old one comes back.
func checkOrder(t testing.TB, frames []taken) (sessions int) {
	t.Helper()
	seen := map[string]bool{}
	for i, f := range frames {
		if i > 0 && f.session == frames[i-1].session {
			if f.seq <= frames[i-1].seq {
				t.Errorf("frame %d after frame %d of the same session", f.seq, frames[i-1].seq)
			}
			if f.epoch < frames[i-1].epoch {
				t.Errorf("epoch %d after epoch %d of the same session", f.epoch, frames[i-1].epoch)
			}
			continue
		}
		if seen[f.session] {
			t.Errorf("frame %d of session %s after another session: an old frame", f.seq, f.session)
		}
		seen[f.session] = true
		if i > 0 && !f.broken {
			t.Errorf("first frame of session %s after another is not marked as a discontinuity", f.session)
		}
	}
	return len(seen)
}
