// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counting is a source of a program's own: frames of 16 bytes with their number.
type counting struct{}

func (counting) Describe() string { return "counting" }

func (counting) Run(ctx context.Context, sink capture.Sink) error {
	g, err := frame.NewGeometry(frame.Mono8, 4, 4)
	if err != nil {
		return err
	}
	w, err := sink.Open("color", capture.Format{Geometry: g, Interval: time.Millisecond})
	if err != nil {
		return err
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for n := uint64(1); ; n++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		s, err := w.Acquire()
		if err != nil {
			return err
		}
		for i := range s.Data {
			s.Data[i] = byte(n)
		}
		w.Commit(s, capture.Stamp{DriverSequence: n})
	}
}

// offline keeps the daemon to itself.
func offline(t *testing.T) Settings {
	return Settings{
		Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
		Set: []string{"zenoh.enabled=false", "cuda.enabled=false"},
	}
}

// A source of the program's own and a camera of the file are served side by side.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s := offline(t)
	s.File = filepath.Join(t.TempDir(), "camd.yaml")
	if err := os.WriteFile(s.File, []byte("cameras:\n  test:\n    kind: pattern\n    size: 64x48\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	s.Ready = func(dir string) { ready <- dir }
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, s, Camera{Name: "own", Source: counting{}, Options: map[string]string{"max_subscribers": "2"}})
	}()
	var dir string
	select {
	case dir = <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	for _, name := range []string{"own/color", "test/color"} {
		sub, err := client.Subscribe(ctx, name, client.WithRuntimeDir(dir), client.WithRequire(negotiate.BackendSHM), client.WithLogger(s.Log))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			f, err := sub.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			m := f.Meta()
			if name == "own/color" && (f.Data()[0] != byte(m.DriverSequence) || f.Data()[15] != byte(m.DriverSequence)) {
				t.Errorf("frame %d holds %v", m.DriverSequence, f.Data())
			}
			f.Release()
		}
		if err := sub.Close(); err != nil {
			t.Error(err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("%v after a stop", err)
	}
}

func TestRefused(t *testing.T) {
	own := Camera{Name: "own", Source: counting{}}
	with := func(key, value string) Camera {
		c := own
		c.Options = map[string]string{key: value}
		return c
	}
	for _, c := range []struct {
		name    string
		cameras []Camera
		file    string
		says    string
	}{
		{"no camera", nil, "", "no camera"},
		{"no name", []Camera{{Source: counting{}}}, "", "name"},
		{"no source", []Camera{{Name: "own"}}, "", "no source"},
		{"twice", []Camera{own, own}, "", "own"},
		{"an option that nobody knows", []Camera{with("max_subscriber", "2")}, "", "max_subscriber"},
		{"an option that makes no sense", []Camera{with("credit", "many")}, "", "credit"},
		{"a file that is not there", []Camera{own}, "/nowhere/camd.yaml", "/nowhere/camd.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := offline(t)
			s.File = c.file
			s.Ready = func(string) { t.Error("it serves") }
			err := Run(t.Context(), s, c.cameras...)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want one that says %q", err, c.says)
			}
			if c.file == "" && !errors.Is(err, capture.ErrConfig) {
				t.Errorf("%v, want %v", err, capture.ErrConfig)
			}
		})
	}
}
