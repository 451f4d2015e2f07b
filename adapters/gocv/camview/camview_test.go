// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gocv.io/x/gocv"

	"github.com/seed-3c7e7623/camd/adapters/gocv/camview/highgui"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

func TestFit(t *testing.T) {
	for _, tc := range []struct {
		picture, area image.Point
		want          image.Rectangle
	}{
		{image.Pt(640, 480), image.Pt(640, 480), image.Rect(0, 0, 640, 480)},
		{image.Pt(4, 3), image.Pt(900, 300), image.Rect(250, 0, 650, 300)},
		{image.Pt(4, 3), image.Pt(300, 800), image.Rect(0, 287, 300, 512)},
		{image.Pt(65536, 1), image.Pt(100, 100), image.Rect(0, 49, 100, 50)},
		{image.Pt(1, 65536), image.Pt(100, 100), image.Rect(49, 0, 50, 100)},
		{image.Pt(0, 0), image.Pt(100, 100), image.Rectangle{}},
		{image.Pt(4, 3), image.Pt(0, 100), image.Rectangle{}},
	} {
		if got := fit(tc.picture, tc.area); got != tc.want {
			t.Errorf("%v in %v: %v, want %v", tc.picture, tc.area, got, tc.want)
		}
	}
	for picture, want := range map[image.Point]image.Point{
		{}: {X: 640, Y: 480}, {X: 3840, Y: 2160}: {X: 1280, Y: 720}, {X: 64, Y: 48}: {X: 320, Y: 240}, {X: 800, Y: 600}: {X: 800, Y: 600},
		{X: 96, Y: 64}: {X: 320, Y: 213}, {X: 64, Y: 1024}: {X: 240, Y: 960}, {X: 65535, Y: 1}: {X: 1280, Y: 180}, {X: 3, Y: 400}: {X: 240, Y: 400},
	} {
		if got := windowFor(picture); got != want {
			t.Errorf("window for %v: %v, want %v", picture, got, want)
		}
	}
	for window, want := range map[image.Point]image.Point{
		{}: {}, {X: 1, Y: 1}: {X: 1, Y: 1}, {X: 7680, Y: 4320}: {X: 7680, Y: 4320}, {X: 32767, Y: 32767}: {X: 8192, Y: 8192}, {X: 1 << 30, Y: 1}: {X: 1 << 26, Y: 1},
	} {
		if got := canvasFor(window); got != want {
			t.Errorf("canvas for %v: %v, want %v", window, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	measure := func(s string) int { return len(s) }
	for text, want := range map[string]string{
		"":                    "",
		"short":               "short",
		"one two three":       "one two|three",
		"abcdefghijklmno":     "abcdefgh|ijklmno",
		"a abcdefghijk  b":    "a|abcdefgh|ijk b",
		"not cuda: no_driver": "not|cuda:|no_drive|r",
	} {
		if got := strings.Join(wrap(text, 8, measure), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := printable("Kamera 1 – ä\n"); got != "Kamera 1 ? ??" {
		t.Errorf("got %q", got)
	}
}

func TestAfter(t *testing.T) {
	names := []string{"a/c", "b/c", "c/c"}
	for current, want := range map[string]string{"a/c": "b/c c/c", "b/c": "c/c a/c", "c/c": "a/c b/c", "x/c": "a/c b/c c/c"} {
		if got := strings.Join(after(current, slices.Clone(names)), " "); got != want {
			t.Errorf("after %s: %s, want %s", current, got, want)
		}
	}
	if got := after("a/c", []string{"a/c"}); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// Frames that the device counts and nobody got are dropped; those that this program
// did not take are missed; neither is counted over a break.
func TestMeter(t *testing.T) {
	const ms = int64(time.Millisecond)
	var m meter
	if m.figures(1000*ms, 0).known {
		t.Error("figures before there are any")
	}
	a, b := frame.Session{1}, frame.Session{2}
	for i, f := range []struct {
		session frame.Session
		meta    frame.Meta
		dropped uint64
	}{
		{a, frame.Meta{Sequence: 1, DriverSequence: 10}, 0},
		{a, frame.Meta{Sequence: 2, DriverSequence: 11}, 0},
		{a, frame.Meta{Sequence: 3, DriverSequence: 14}, 2},
		{a, frame.Meta{Sequence: 6, DriverSequence: 17}, 2},
		{a, frame.Meta{Sequence: 7, DriverSequence: 40, Flags: frame.Discontinuity, BreakSequence: 7}, 2},
		{a, frame.Meta{Sequence: 8, DriverSequence: 41, BreakSequence: 7}, 2},
		{b, frame.Meta{Sequence: 1, DriverSequence: 90}, 2},
	} {
		f.meta.CaptureNanos, f.meta.ReadyNanos = 1000*ms, 1002*ms
		m.take(f.session, f.meta, 1003*ms)
		m.show(f.meta, 1012*ms)
		if dropped, _ := m.counts(); dropped != f.dropped {
			t.Errorf("frame %d: %d dropped, want %d", i, dropped, f.dropped)
		}
	}
	g := m.figures(2000*ms, 3)
	if !g.known || g.published != 10 || g.shown != 7 || g.readyShown.mean() != 10e6 || g.captureToHeld.max != 3*ms || g.publishShown.n != 0 {
		t.Errorf("figures %+v", g)
	}
	if g = m.figures(3000*ms, 3); g.published != 0 || g.readyShown.n != 0 {
		t.Errorf("figures of a second without frames %+v", g)
	}
}

func TestOverlayLines(t *testing.T) {
	g, err := frame.NewGeometry(frame.BGRA8, 640, 480)
	if err != nil {
		t.Fatal(err)
	}
	f := facts{
		stream: "front/color", geometry: g, sequence: 7, missed: 1, dropped: 2, unshown: 3, paused: true,
		path: client.Path{Backend: negotiate.BackendSHM, Wake: negotiate.WakeFutex, Rejected: []negotiate.Rejected{{Backend: negotiate.BackendCUDA, Reason: negotiate.ReasonNotOffered}}},
		figures: figures{
			known: true, published: 30, shown: 29.96,
			readyShown: span{2, 6e6, 4e6}, captureToHeld: span{1, 1e6, 1e6},
		},
	}
	want := []string{
		"front/color  640x480 bgra8",
		"paused",
		"rate 30.0 Hz, shown 30.0 Hz",
		"ready to shown 3.0 ms, at most 4.0",
		"capture to held 1.0 ms, at most 1.0",
		"by shm (futex); not cuda: not_offered",
		"frame 7, missed 1, dropped 2, not shown 3",
	}
	if got := f.lines(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Whatever the window's size, writing in it stays inside and does not fail.
func TestWriteInSmallWindows(t *testing.T) {
	c := newCanvas()
	defer c.close()
	for _, area := range []image.Point{{X: 1, Y: 1}, {X: 7, Y: 300}, {X: 300, Y: 9}, {X: 40, Y: 40}, {X: 500, Y: 60}} {
		c.clear(area)
		c.write(topLeft, "a line of some words", strings.Repeat("x", 300))
		c.write(centre, "waiting: for some reason")
		if c.mat.Cols() != area.X || c.mat.Rows() != area.Y {
			t.Errorf("%v became %v", area, c.mat.Size())
		}
	}
}

// What a kind of file cannot hold is an error. OpenCV throws.
func TestEncode(t *testing.T) {
	m := gocv.NewMatWithSize(1, 65535, gocv.MatTypeCV8UC3)
	defer m.Close()
	if file, err := highgui.Encode(".png", m); err != nil || len(file) == 0 {
		t.Errorf("%d bytes: %v", len(file), err)
	}
	empty := gocv.NewMat()
	defer empty.Close()
	for ext, m := range map[string]gocv.Mat{".jpg": m, ".none": m, ".png": empty} {
		if file, err := highgui.Encode(ext, m); !errors.Is(err, highgui.ErrEncode) || file != nil {
			t.Errorf("%s: %d bytes: %v", ext, len(file), err)
		}
	}
}

func TestWriteNew(t *testing.T) {
	dir := t.TempDir()
	m := gocv.NewMatWithSize(2, 3, gocv.MatTypeCV8UC3)
	defer m.Close()
	now := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	for _, want := range []string{"host_front_color-20260102T030405.006Z.png", "host_front_color-20260102T030405.006Z-2.png"} {
		got, err := writeNew(dir, "host:front/color", now, m)
		if err != nil || got != filepath.Join(dir, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := writeNew(filepath.Join(dir, "none"), "/a/b", now, m); !os.IsNotExist(err) {
		t.Errorf("got %v", err)
	}
}
