// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"sync"
	"time"

	"gocv.io/x/gocv"

	"github.com/seed-3c7e7623/camd/adapters/gocv/camview/highgui"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/cli"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// The window's times.
const (
	eventsEvery  = 15 * time.Millisecond  // without a frame, keys are looked for
	redrawEvery  = 250 * time.Millisecond // without a frame, figures are drawn anew
	messageStays = 3 * time.Second
)

// viewer is the window and what is in it. All of it belongs to the main thread.
type viewer struct {
	viewing *cli.Viewing
	stdout  io.Writer
	folder  string
	distances

	window  *highgui.Window
	canvas  *canvas
	feed    *feed
	started int64 // CLOCK_MONOTONIC: since when frames can come

	picture gocv.Mat // of the frame that is shown
	spare   gocv.Mat // for the next one
	shown   shown

	overlay, paused bool
	sized           bool // the window has the size of a picture, or of the user's liking
	message         string
	messageEnds     time.Time
	failure         string // the newest one of a conversion
	area            image.Point
	drawn           time.Time
	stale           bool // what is drawn is not what is to be seen

	looking bool // for the next stream
	others  chan found
	work    sync.WaitGroup
}

// shown is what is known of the picture.
type shown struct {
	stream   string // "": there is none
	geometry frame.Geometry
	meta     frame.Meta
}

// run shows frames until the user or ctx ends it, or the subscription.
func (v *viewer) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	v.picture, v.spare, v.canvas = gocv.NewMat(), gocv.NewMat(), newCanvas()
	v.others = make(chan found, 1)
	defer func() {
		cancel()
		err = errors.Join(err, v.close())
	}()
	size := windowFor(v.nominal())
	if v.window, err = highgui.Open(title(v.feed.stream), size.X, size.Y); err != nil {
		return err
	}
	v.started = linux.Monotonic()
	v.feed.meter.begin()
	timer := time.NewTicker(eventsEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case f := <-v.feed.frames:
			v.take(f)
		case <-v.feed.done:
			return v.feed.err
		case o := <-v.others:
			v.change(o)
		case <-timer.C:
		}
		if end, err := v.turn(ctx); end || err != nil {
			return err
		}
	}
}

// nominal is the size of the stream's pictures, as far as it is known.
func (v *viewer) nominal() image.Point {
	g := v.feed.sub.Info().Geometry
	v.sized = g.Width > 0
	return image.Pt(g.Width, g.Height)
}

func title(stream string) string { return "camview: " + stream }

// take makes the newest frame the picture, and gives it back.
func (v *viewer) take(f client.Frame) {
	defer f.Release()
	if v.paused {
		return
	}
	geometry, meta := f.Geometry(), f.Meta()
	if err := v.distances.picture(f, &v.spare); err != nil {
		if !errors.Is(err, client.ErrStaleFrame) && err.Error() != v.failure {
			v.failure = err.Error()
			v.say(v.failure)
			v.feed.sub.Say("%s: frame %d, %v: %v", v.feed.stream, meta.Sequence, geometry, err)
		}
		return
	}
	v.picture, v.spare = v.spare, v.picture
	v.shown = shown{v.feed.stream, geometry, meta}
	if !v.sized {
		v.sized = true
		size := windowFor(image.Pt(geometry.Width, geometry.Height))
		_ = v.window.Resize(size.X, size.Y) // a wish
	}
	v.drawn, v.stale = time.Time{}, true
}

// turn handles what the user did and draws. end: the user wants no more.
func (v *viewer) turn(ctx context.Context) (end bool, _ error) {
	width, height, open, err := v.window.Size()
	if err != nil || !open {
		return true, err
	}
	area := image.Pt(width, height)
	fresh := v.stale
	if fresh || area != v.area || time.Since(v.drawn) >= redrawEvery {
		if err := v.draw(area); err != nil {
			return false, err
		}
	}
	key, err := v.window.Key(1)
	if err != nil {
		return false, err
	}
	now := linux.Monotonic()
	if fresh && v.shown.stream == v.feed.stream && !v.paused {
		v.feed.meter.show(v.shown.meta, now)
	}
	if wait := v.viewing.Timeout(); wait > 0 && now-max(v.started, v.feed.meter.held()) > int64(wait) {
		return false, fmt.Errorf("%w: no frame of %s for %v", cli.ErrTimeout, v.feed.stream, wait)
	}
	return v.key(ctx, key), nil
}

// key does what a key stands for.
func (v *viewer) key(ctx context.Context, key int) (quit bool) {
	const escape = 27
	switch key {
	case highgui.NoKey:
		return false
	case 'q', 'Q', escape:
		return true
	case 'p', 'P', ' ':
		v.paused = !v.paused
	case 'o', 'O':
		v.overlay = !v.overlay
	case 's', 'S':
		v.save()
	case 'n', 'N':
		v.next(ctx)
	}
	v.drawn = time.Time{}
	return false
}

func (v *viewer) say(text string) { v.message, v.messageEnds = text, time.Now().Add(messageStays) }

// save writes the picture that is shown.
func (v *viewer) save() {
	if v.shown.stream == "" {
		v.say("no picture yet")
		return
	}
	path, err := writeNew(v.folder, v.shown.stream, time.Now(), v.picture)
	if err != nil {
		v.say("not saved: " + err.Error())
		v.feed.sub.Say("not saved: %v", err)
		return
	}
	v.say("saved " + path)
	fmt.Fprintln(v.stdout, wrote(path, v.shown.stream, v.shown.geometry, v.shown.meta.Sequence))
}

// next looks for another stream; this one goes on until there is one.
func (v *viewer) next(ctx context.Context) {
	if v.looking {
		return
	}
	v.looking = true
	current := v.feed.stream
	v.work.Go(func() { v.others <- nextFeed(ctx, v.viewing, current) })
}

// change goes over to another stream.
func (v *viewer) change(o found) {
	v.looking = false
	if o.err != nil {
		v.say(o.err.Error())
		v.feed.sub.Say("next stream: %v", o.err)
		return
	}
	old := v.feed
	v.feed, v.started, v.paused, v.failure, v.message = o.feed, linux.Monotonic(), false, "", ""
	_ = v.window.Title(title(v.feed.stream)) // for people
	v.work.Go(func() {
		if err := old.close(); err != nil {
			old.sub.Say("%s: %v", old.stream, err)
		}
	})
}

// draw makes what is to be seen now.
func (v *viewer) draw(area image.Point) error {
	now := time.Now()
	v.area, v.drawn, v.stale = area, now, false
	if area.X < 1 || area.Y < 1 {
		return nil
	}
	v.canvas.clear(canvasFor(area))
	if v.shown.stream != "" {
		v.canvas.paint(v.picture)
	}
	waits := v.feed.waitsFor(linux.Monotonic())
	if waits != "" || v.shown.stream != v.feed.stream {
		v.canvas.darken()
	}
	if v.overlay {
		f := v.facts()
		v.canvas.write(topLeft, f.lines()...)
	}
	var middle []string
	if waits != "" {
		middle = append(middle, waits)
	}
	if v.looking {
		middle = append(middle, "looking for the next stream")
	}
	if v.message != "" && now.Before(v.messageEnds) {
		middle = append(middle, v.message)
	}
	v.canvas.write(centre, middle...)
	return v.window.Show(v.canvas.mat)
}

func (v *viewer) facts() facts {
	stats := v.feed.sub.Stats()
	f := facts{
		stream: v.feed.stream, path: v.feed.sub.Path(), missed: stats.Missed, paused: v.paused,
		figures: v.feed.meter.figures(linux.Monotonic(), stats.Missed),
	}
	f.dropped, f.unshown = v.feed.meter.counts()
	if v.shown.stream == v.feed.stream {
		f.geometry, f.sequence = v.shown.geometry, v.shown.meta.Sequence
	}
	return f
}

// close ends everything. Whatever was looked for is cancelled.
func (v *viewer) close() error {
	var errs []error
	if v.window != nil {
		errs = append(errs, v.window.Close())
	}
	v.work.Wait()
	select {
	case o := <-v.others:
		if o.feed != nil {
			errs = append(errs, o.feed.close())
		}
	default:
	}
	errs = append(errs, v.feed.close(), v.canvas.close(), v.picture.Close(), v.spare.Close())
	return errors.Join(errs...)
}
