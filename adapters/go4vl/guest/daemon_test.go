// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// output collects what a program says.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// streamStatus is a stream in the daemon's status.
type streamStatus struct {
	Source     string                        `json:"source"`
	State      string                        `json:"state"`
	HostCopies float64                       `json:"host_copies"`
	Dropped    map[capture.DropReason]uint64 `json:"dropped"`
}

func statusOf(t *testing.T) streamStatus {
	t.Helper()
	docs, err := client.Status(t.Context())
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d daemons, %v", len(docs), err)
	}
	var d struct {
		Streams []streamStatus `json:"streams"`
	}
	if err := json.Unmarshal(docs[0], &d); err != nil || len(d.Streams) != 1 {
		t.Fatalf("%v: %s", err, docs[0])
	}
	return d.Streams[0]
}

// subscribe waits for the daemon, too.
func subscribe(ctx context.Context, t *testing.T) *client.Subscription {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		sub, err := client.Subscribe(ctx, "front/color", client.WithRequire(negotiate.BackendSHM))
		if err == nil {
			t.Cleanup(func() { _ = sub.Close() })
			return sub
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-tick.C:
		}
	}
}

// The program of the README: what vivid draws reaches a subscriber of another
// process by shared memory, and comes again after the camera was unplugged.
func TestDaemon(t *testing.T) {
	set(t, camUnplug, ctrlTextMode, textNone)
	const frames = 60
	want := take(t, ours(t, "cam=v4l2:"+camUnplug+",320x180,encoding=yuyv"), 5, nil)
	want.need(t, 5)

	cmd := exec.Command("example", "-device", camUnplug, "-size", "320x180", "-format", "YUYV", "-brightness", "128")
	var said output
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v", err)
		}
		if t.Failed() {
			t.Logf("%s", &said)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), hung)
	defer cancel()
	sub := subscribe(ctx, t)
	n, again, marks := 0, 0, 0
	for f, err := range sub.Frames(ctx) {
		if err != nil {
			t.Fatalf("after %d frames: %v", n, err)
		}
		if f.Geometry() != want.format.Geometry || !bytes.Equal(f.Data(), want.last) {
			t.Fatalf("frame %d, %v, is not the picture of camd's own layer", n, f.Geometry())
		}
		if f.Meta().Flags&frame.Discontinuity != 0 && n > 0 {
			marks++
		}
		if n++; n == frames {
			s := statusOf(t)
			t.Logf("%+v", s)
			if s.HostCopies != 2 || s.State != "running" {
				t.Errorf("%g copies a frame, %s; want 2, running", s.HostCopies, s.State)
			}
			if d := s.Dropped[capture.DropNoSlot] + s.Dropped[capture.DropDamaged]; d != 0 {
				t.Errorf("%v dropped", s.Dropped)
			}
			set(t, camUnplug, ctrlDisconnect, 1)
		}
		if marks > 0 {
			if again++; again == frames {
				break
			}
		}
	}
	if marks != 1 {
		t.Errorf("%d discontinuities, want that of the unplugged camera", marks)
	}
	t.Run("in use", func(t *testing.T) {
		if got := take(t, ours(t, "cam=v4l2:"+camUnplug+",640x360"), 1, nil); got.err == nil {
			t.Error("camd's own layer streams from a camera in use")
		}
	})
}
