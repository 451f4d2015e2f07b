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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vladimirvivien/go4vl/v4l2"

	"github.com/seed-3c7e7623/camd/adapters/go4vl"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	camd "github.com/seed-3c7e7623/camd/capture/v4l2"
)

// hung is how long frames may take before a test calls the camera hung.
const hung = 20 * time.Second

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// small is the usual request of these tests, 60 frames per second.
func small(code v4l2.FourCCType) go4vl.Options {
	return go4vl.Options{Format: v4l2.PixFormat{Width: 320, Height: 180, PixelFormat: code}}
}

func source(t *testing.T, path string, o go4vl.Options) *go4vl.Source {
	t.Helper()
	s, err := go4vl.New(path, o)
	if err != nil {
		t.Fatal(err)
	}
	s.Log = quiet
	return s
}

// ours is camd's own layer.
func ours(t *testing.T, text string) *camd.Source {
	t.Helper()
	spec, err := capture.ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := camd.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	s.Log = quiet
	return s
}

// taken is what a camera delivered.
type taken struct {
	format capture.Format
	last   []byte // pixels of the last frame
	stamps []capture.Stamp
	stats  capturetest.Stats
	err    error // of Run
}

// take runs a source until it delivered n frames. look, if given, is called
// within each.
func take(t *testing.T, s capture.Source, n int, look func(i int, f capturetest.Frame)) taken {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hung)
	defer cancel()
	var mu sync.Mutex
	var got taken
	got.stamps = make([]capture.Stamp, 0, n)
	sink := &capturetest.Sink{Slots: 10}
	sink.OnFrame = func(f capturetest.Frame) {
		mu.Lock()
		defer mu.Unlock()
		if len(got.stamps) >= n {
			return
		}
		got.format = f.Format
		got.stamps = append(got.stamps, f.Stamp)
		if look != nil {
			look(len(got.stamps), f)
		}
		if len(got.stamps) == n {
			got.last = append([]byte(nil), f.Data...)
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

// need fails unless the run ended well after n frames.
func (g taken) need(t *testing.T, n int) {
	t.Helper()
	if g.err != nil || len(g.stamps) != n {
		t.Fatalf("%d frames of %d, %v", len(g.stamps), n, g.err)
	}
}

// again runs a source until its device is back, and then for n frames.
func again(t *testing.T, s capture.Source, n int) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var got taken
	for range int(hung / (20 * time.Millisecond)) {
		if got = take(t, s, n, nil); !errors.Is(got.err, capture.ErrDeviceNotFound) && !errors.Is(got.err, capture.ErrDeviceGone) {
			break
		}
		<-tick.C
	}
	got.need(t, n)
}

// traces counts what this process has of video devices: descriptors and mappings,
// either of which keeps a device in use.
func traces(t *testing.T) (files, maps int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, "/dev/video") {
			files++
		}
	}
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return files, strings.Count(string(text), "/dev/video")
}

// clean fails if something of a device is left.
func clean(t *testing.T) {
	t.Helper()
	if files, maps := traces(t); files != 0 || maps != 0 {
		t.Errorf("%d descriptors and %d mappings of video devices are left", files, maps)
	}
}
