// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/capture/v4l2"
	"github.com/seed-3c7e7623/camd/e2e/vm/inside"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// hung is how long frames may take before a test calls the camera hung.
const hung = 20 * time.Second

// taken is what a camera delivered, without the pixels.
type taken struct {
	format capture.Format
	stamps []capture.Stamp
	stats  capturetest.Stats
	err    error // of Run
}

// take runs the camera that text describes until it delivered n frames, in
// memory like that of a ring. Each frame is shown to look, if given, which may
// end the run early by returning false.
func take(t *testing.T, text string, n int, look func(capturetest.Frame) bool) taken {
	t.Helper()
	return run(t, source(t, text), n, look)
}

func source(t *testing.T, text string) *v4l2.Source {
	t.Helper()
	spec, err := capture.ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := v4l2.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	s.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	if os.Getenv("CAMD_GUEST_LOG") != "" {
		s.Log = slog.New(slog.NewTextHandler(os.Stdout, nil))
	}
	return s
}

func run(t *testing.T, s *v4l2.Source, n int, look func(capturetest.Frame) bool) taken {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hung)
	defer cancel()
	var mu sync.Mutex
	var got taken
	sink := &capturetest.Sink{Slots: 10, Alloc: func(bytes int) []byte { return sealed(t, bytes) }}
	sink.OnFrame = func(f capturetest.Frame) {
		mu.Lock()
		defer mu.Unlock()
		if len(got.stamps) >= n {
			return
		}
		got.format = f.Format
		got.stamps = append(got.stamps, f.Stamp)
		if (look != nil && !look(f)) || len(got.stamps) == n {
			cancel()
		}
	}
	err := s.Run(ctx, sink)
	mu.Lock()
	defer mu.Unlock()
	if !errors.Is(err, context.Canceled) {
		got.err = err
	}
	got.stats = sink.Stats()
	if len(got.stats.Misuse) > 0 || got.stats.Held != 0 {
		t.Errorf("%d slots left, misuse: %q", got.stats.Held, got.stats.Misuse)
	}
	return got
}

// sealed is memory as a ring has it, which nobody else can map for writing.
func sealed(t *testing.T, bytes int) []byte {
	m, err := linux.NewMemory("guest", linux.PageRound(int64(bytes)), true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m.Data[:bytes:bytes]
}

// need fails unless the run ended well after n frames.
func (g taken) need(t *testing.T, n int) {
	t.Helper()
	if g.err != nil || len(g.stamps) != n {
		t.Fatalf("%d frames of %d, %v", len(g.stamps), n, g.err)
	}
}

// Controls of vivid that change what its driver does (vivid-core.h).
const (
	ctrlTestPattern   = 0x00f0f000
	ctrlTextMode      = 0x00f0f001
	ctrlStampSource   = 0x00f0f018
	ctrlSignalMode    = 0x00f0f03e
	ctrlDropped       = 0x00f0f040
	ctrlDisconnect    = 0x00f0f041
	ctrlErrorFlag     = 0x00f0f042
	ctrlFatalError    = 0x00f0f046
	vividRed          = 7
	vividTextNone     = 2
	vividNoSignalMode = 1
)

func setControl(t *testing.T, path string, id uint32, value int32) {
	t.Helper()
	if err := inside.Control(path, id, value); err != nil {
		t.Fatalf("%s: control %#x=%d: %v", path, id, value, err)
	}
}
