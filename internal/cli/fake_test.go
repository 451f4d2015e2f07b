// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestMain keeps tests that say nothing about Zenoh off the network.
func TestMain(m *testing.M) {
	if err := os.Setenv(config.EnvOverride, `mode="client";connect/endpoints=["tcp/127.0.0.1:1"]`); err != nil {
		panic(err)
	}
	if how := os.Getenv(signalledVariable); how != "" {
		os.Exit(signalledMain(how))
	}
	goleak.VerifyTestMain(m)
}

// fakeStream is a stream whose frames come at set times of a synctest bubble.
type fakeStream struct {
	info     negotiate.StreamInfo
	path     client.Path
	interval time.Duration // from frame to frame
	frames   int           // then silence; 0 = without end
	failWith error         // after frames, in place of silence
	missed   uint64
	change   func(n int, f *fakeFrame) // may alter frame n, 0 first

	listed    []client.Daemon
	topics    []client.Topic // nil: no router
	status    []json.RawMessage
	announced []negotiate.Announcement // nil: no router
	overhead  int                      // bytes of a message beside the frame
	refused   error                    // of Subscribe

	taken, released int
	closed          bool
	start           time.Time
}

type fakeFrame struct {
	stream   *fakeStream
	n        int
	data     []byte
	meta     frame.Meta
	geometry frame.Geometry
	held     int64
	valid    error
}

func (f *fakeFrame) Data() []byte             { return f.data }
func (f *fakeFrame) Meta() frame.Meta         { return f.meta }
func (f *fakeFrame) Geometry() frame.Geometry { return f.geometry }
func (f *fakeFrame) HeldNanos() int64         { return f.held }
func (f *fakeFrame) MessageBytes() int        { return f.meta.Bytes + f.stream.overhead }
func (f *fakeFrame) Valid() error             { return f.valid }
func (f *fakeFrame) Release()                 { f.stream.released++ }

func now() int64 { return time.Now().UnixNano() }

func (s *fakeStream) Next(ctx context.Context) (heldFrame, error) {
	if s.frames > 0 && s.taken >= s.frames {
		if s.failWith != nil {
			return nil, s.failWith
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	// One millisecond beside the seconds at which reports are printed.
	due := s.start.Add(time.Millisecond + time.Duration(s.taken+1)*s.interval)
	select {
	case <-time.After(time.Until(due)):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f := &fakeFrame{stream: s, n: s.taken, geometry: s.info.Geometry, data: make([]byte, s.info.Geometry.Size()), held: now()}
	f.meta = frame.Meta{
		Sequence: uint64(s.taken + 1), Bytes: len(f.data),
		CaptureNanos: f.held - int64(5*time.Millisecond), ReadyNanos: f.held - 40_000 - int64(s.taken%10)*1000, PublishNanos: f.held - 30_000,
	}
	if s.change != nil {
		s.change(s.taken, f)
	}
	s.taken++
	return f, nil
}

func (s *fakeStream) Info() negotiate.StreamInfo { return s.info }
func (s *fakeStream) Path() client.Path          { return s.path }
func (s *fakeStream) Stats() client.Stats {
	return client.Stats{Taken: uint64(s.taken), Missed: s.missed}
}
func (s *fakeStream) Close() error { s.closed = true; return nil }

func (s *fakeStream) world() world {
	return world{
		subscribe: func(context.Context, string, ...client.Option) (subscription, error) {
			if s.refused != nil {
				return nil, s.refused
			}
			s.start = time.Now()
			return s, nil
		},
		list: func(context.Context, ...client.Option) ([]client.Daemon, error) {
			if s.listed == nil {
				return nil, fmt.Errorf("%w in /run/camd", client.ErrNoDaemon)
			}
			return s.listed, nil
		},
		topics: func(context.Context, ...client.Option) ([]client.Topic, error) {
			if s.topics == nil {
				return nil, fmt.Errorf("%w at tcp/localhost:7447", client.ErrNoRouter)
			}
			return s.topics, nil
		},
		announced: func(context.Context, ...client.Option) ([]negotiate.Announcement, error) {
			if s.announced == nil {
				return nil, fmt.Errorf("%w at tcp/localhost:7447", client.ErrNoRouter)
			}
			return s.announced, nil
		},
		look: func(context.Context, string, ...client.Option) ([]negotiate.Announcement, error) {
			if s.announced == nil {
				return nil, fmt.Errorf("%w at tcp/localhost:7447", client.ErrNoRouter)
			}
			return s.announced, nil
		},
		status: func(context.Context, ...client.Option) ([]json.RawMessage, error) { return s.status, nil },
		now:    now, realtime: now,
	}
}

func geometry(t testing.TB, e frame.Encoding, width, height int) frame.Geometry {
	t.Helper()
	g, err := frame.NewGeometry(e, width, height)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// newFake is test/color at 100 Hz.
func newFake(t testing.TB) *fakeStream {
	info := negotiate.StreamInfo{
		Name: "test/color", Camera: "test", Source: "pattern", State: "running", StateSince: 1_700_000_000_000,
		Geometry: geometry(t, frame.BGRA8, 64, 48), IntervalNS: 10_000_000, Clock: "monotonic", Epoch: 1, Subscribed: 2,
	}
	return &fakeStream{
		info: info, interval: 10 * time.Millisecond,
		path: client.Path{
			Backend: negotiate.BackendSHM, Wake: negotiate.WakeFutex, Credit: 2,
			Rejected: []negotiate.Rejected{{Backend: negotiate.BackendCUDA, Reason: negotiate.ReasonNotOffered}},
		},
		listed: []client.Daemon{{Dir: "/run/camd", StreamList: negotiate.StreamList{Streams: []negotiate.StreamInfo{
			info,
			{Name: "clip/color", Camera: "clip", Source: "replay walk.avi", State: "lost", Problem: "device not found"},
		}}}},
	}
}

const noteOfPath = "camsub: test/color by shm (futex), 64x48 bgra8; not cuda: not_offered\n"

// run executes camsub in a bubble of its own time.
func (s *fakeStream) run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return s.runContext(t, func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} }, args...)
}

func (s *fakeStream) runContext(
	t *testing.T, with func(context.Context) (context.Context, context.CancelFunc), args ...string,
) (code int, stdout, stderr string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var out, errs bytes.Buffer
		ctx, cancel := with(context.Background())
		defer cancel()
		code = Execute(ctx, newCamsub(s.world()), args, &out, &errs)
		stdout, stderr = out.String(), errs.String()
	})
	if s.released != s.taken {
		t.Errorf("%d frames taken, %d released", s.taken, s.released)
	}
	if s.taken > 0 && !s.closed {
		t.Error("the subscription was not closed")
	}
	return code, stdout, stderr
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\ngot\n%s\nwant\n%s", name, got, want)
	}
}

func mustContain(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s lacks %q:\n%s", what, p, text)
		}
	}
}

var errBroken = errors.New("broken")

// runWorld is fakeStream.run for a world that was changed.
func runWorld(t *testing.T, w world, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var out, errs bytes.Buffer
		code = Execute(context.Background(), newCamsub(w), args, &out, &errs)
		stdout, stderr = out.String(), errs.String()
	})
	return code, stdout, stderr
}
