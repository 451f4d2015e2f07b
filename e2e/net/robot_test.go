// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package net

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/internal/proctest"
)

// daemon is a camd on a host.
type daemon struct {
	*process
	h *host
}

// camd starts it with cameras, and more arguments, and waits until they run
// and are published.
func (h *host) camd(cameras []string, more ...string) *daemon {
	h.t.Helper()
	line := append([]string{camd, "run"}, more...)
	for _, c := range cameras {
		line = append(line, "--camera", c)
	}
	d := &daemon{h.start(line...), h}
	d.says("camd running")
	eventually(h.t, "the cameras run", func() (bool, string) {
		st := d.status()
		for _, c := range st.Cameras {
			if c.State != "running" {
				return false, fmt.Sprintf("camera %s is %s: %s", c.Name, c.State, c.Problem)
			}
		}
		return len(st.Streams) >= len(cameras), fmt.Sprintf("%d streams", len(st.Streams))
	})
	d.says("published for ROS 2") // to others it is there from then on
	h.t.Cleanup(func() {
		if d.ended() {
			d.t.Errorf("camd had ended by itself (%v)", d.cmd.ProcessState)
			return
		}
		d.signal(syscall.SIGTERM)
		d.ends(0)
	})
	return d
}

// status is what camd status shows of it.
type status struct {
	Cameras []struct{ Name, State, Problem string }
	Streams []struct {
		Name        string
		Subscribers []subscriber `json:"subscribers_detail"`
	}
	Zenoh struct{ State, As, Role string }
}

// subscriber is one as camd sees it.
type subscriber struct {
	Backend, Host, Client string
	Skipped               uint64
	Rejected              []struct{ Backend, Reason string }
}

func (d *daemon) status() status {
	d.t.Helper()
	var all []status
	out := d.h.start(camd, "status", "--format", "json").ends(0)
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 1 {
		d.t.Fatalf("%v: %s", err, out)
	}
	return all[0]
}

// keepsUp holds that those who read the camera in shared memory were handed every
// frame, whatever the network does.
func (d *daemon) keepsUp() {
	d.t.Helper()
	n := 0
	for _, s := range d.status().Streams {
		for _, c := range s.Subscribers {
			if c.Backend != "shm" {
				continue
			}
			n++
			if c.Skipped != 0 {
				d.t.Errorf("%s: a subscriber beside the camera skipped %d frames", s.Name, c.Skipped)
			}
		}
	}
	if n == 0 {
		d.t.Error("nobody reads in shared memory")
	}
}

// camsub runs it to its end, which must be with code 0, and returns what it
// wrote to standard output.
func (h *host) camsub(args ...string) string {
	h.t.Helper()
	return h.start(append([]string{camsub}, args...)...).ends(0)
}

// seen is a frame that a watcher took.
type seen struct {
	sequence uint64
	session  string
	broken   bool // marked as a discontinuity
	whole    bool
	backend  string
	captured int64 // nanoseconds, the host's clock
	age      int64 // microseconds
}

// watcher is a subscriber that tells of each frame.
type watcher struct{ *process }

// watch starts one on the host.
func (h *host) watch(args ...string) watcher {
	h.t.Helper()
	return h.watchWith(nil, args...)
}

// watchWith is that with more in the environment.
func (h *host) watchWith(env []string, args ...string) watcher {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	return watcher{h.startWith(append(env, watcherVariable+"=1"), append([]string{self}, args...)...)}
}

// frames are those taken so far, in order.
func (w watcher) frames() (out []seen) {
	w.t.Helper()
	s := w.out.String()
	s = s[:strings.LastIndexByte(s, '\n')+1]
	for _, line := range strings.Split(s, "\n") {
		var f seen
		if _, err := fmt.Sscanf(line, "frame %d %s %t %t %s %d %d", &f.sequence, &f.session, &f.broken, &f.whole, &f.backend, &f.captured, &f.age); err == nil {
			out = append(out, f)
		}
	}
	return out
}

// await waits until it took so many frames in all.
func (w watcher) await(n int) []seen {
	w.t.Helper()
	var got []seen
	eventually(w.t, fmt.Sprintf("%s takes %d frames", w.name, n), func() (bool, string) {
		ended := w.ended()
		if got = w.frames(); len(got) < n && ended {
			w.t.Fatalf("%s ended after %d frames: %s", w.name, len(got), proctest.Tail(w.err.String()))
		}
		return len(got) >= n, fmt.Sprint(len(got))
	})
	return got
}

// hold interrupts it and holds its frames against what every subscriber is
// promised: each is whole, and none is older than the one before; after a
// reconnection the first one is marked.
func (w watcher) hold() []seen {
	w.t.Helper()
	w.interrupt()
	frames := w.frames()
	if len(frames) == 0 {
		w.t.Errorf("%s took no frame", w.name)
	}
	for i, f := range frames {
		if !f.whole {
			w.t.Errorf("%s: frame %d is torn", w.name, f.sequence)
		}
		if i == 0 {
			continue
		}
		switch before := frames[i-1]; {
		case f.sequence <= before.sequence && f.session == before.session:
			w.t.Errorf("%s: frame %d after frame %d", w.name, f.sequence, before.sequence)
		case f.captured <= before.captured:
			w.t.Errorf("%s: frame %d by %s is %v older than the one before, by %s", w.name, f.sequence, f.backend, time.Duration(before.captured-f.captured), before.backend)
		case f.backend != before.backend && !f.broken:
			w.t.Errorf("%s: frame %d by %s after one by %s is not marked", w.name, f.sequence, f.backend, before.backend)
		}
	}
	return frames
}

// missed are the frames of the camera between the first and the last one taken.
func missed(frames []seen) (n uint64) {
	for i := 1; i < len(frames); i++ {
		if frames[i].session == frames[i-1].session {
			n += frames[i].sequence - frames[i-1].sequence - 1
		}
	}
	return n
}

// ages says how old the frames were, in milliseconds.
func ages(frames []seen) string {
	var all []int64
	for _, f := range frames {
		all = append(all, f.age)
	}
	return quantiles(all)
}

// deployed is a file of deploy/zenoh.
func deployed(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../deploy/zenoh", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
