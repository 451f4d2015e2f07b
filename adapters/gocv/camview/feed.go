// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/internal/cli"
)

// silent is how long a stream may give nothing before that is said: at least so
// long, and at least so many frames.
const (
	silent       = 2 * time.Second
	silentFrames = 4
)

// evictedPause is between two looks whether an eviction is over.
const evictedPause = 50 * time.Millisecond

// feed takes the frames of one stream as they come and holds the newest one, until
// the window has time for it.
type feed struct {
	stream string
	sub    *cli.Viewed
	frames chan client.Frame // room for one
	meter  meter

	cancel context.CancelFunc
	done   chan struct{} // closed once no frame comes any more
	err    error         // why; to be read after done

	mu      sync.Mutex
	waiting string // what an event said since the newest frame
}

// openFeed subscribes. ctx bounds that alone.
func openFeed(ctx context.Context, v *cli.Viewing, stream string) (*feed, error) {
	f := &feed{stream: stream, frames: make(chan client.Frame, 1), done: make(chan struct{})}
	sub, err := v.Subscribe(ctx, stream, f.event)
	if err != nil {
		return nil, err
	}
	f.sub = sub
	background, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	go f.run(background)
	return f, nil
}

func (f *feed) run(ctx context.Context) {
	defer close(f.done)
	for first := true; ; {
		fr, err := f.sub.Next(ctx)
		if errors.Is(err, client.ErrEvicted) {
			// It goes on once no frame is held. The other one is given back as soon as
			// it is painted.
			f.drain()
			f.say(err.Error())
			select {
			case <-time.After(evictedPause):
			case <-ctx.Done():
			}
			continue
		}
		if err != nil {
			f.err = err
			return
		}
		if first {
			first = false
			f.sub.FirstFrame()
		}
		f.say("")
		f.meter.take(fr.Session(), fr.Meta(), fr.HeldNanos())
		f.offer(fr)
	}
}

// offer puts the newest frame in the place of one that nobody has fetched.
func (f *feed) offer(fr client.Frame) {
	for {
		select {
		case f.frames <- fr:
			return
		default:
		}
		if f.drain() {
			f.meter.replaced()
		}
	}
}

// drain gives the frame back that nobody has fetched, if there is one.
func (f *feed) drain() bool {
	select {
	case old := <-f.frames:
		old.Release()
		return true
	default:
		return false
	}
}

func (f *feed) event(e client.Event) {
	switch e.Kind {
	case client.EventDisconnected, client.EventEnded, client.EventWaiting, client.EventEvicted:
		f.say(cmp.Or(e.Text, string(e.Kind)))
	}
}

func (f *feed) say(waiting string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = waiting
}

// waitsFor is why there are no frames now, "" if they come.
func (f *feed) waitsFor(nowNanos int64) string {
	f.mu.Lock()
	said := f.waiting
	f.mu.Unlock()
	if said != "" {
		return said
	}
	held := f.meter.held()
	info := f.sub.Info()
	if quiet := time.Duration(nowNanos - held); held != 0 && quiet < max(silent, silentFrames*time.Duration(info.IntervalNS)) {
		return ""
	} else if held != 0 {
		said = fmt.Sprintf("no frame for %v", quiet.Truncate(time.Second))
	} else {
		said = "no frame yet"
	}
	if info.Problem != "" {
		said += ": " + info.Problem
	} else if info.Camera != "" && info.State != "" && info.State != "running" {
		said += ", camera " + info.Camera + " is " + info.State
	}
	return said
}

// close ends the subscription. Nobody fetches frames any more.
func (f *feed) close() error {
	f.cancel()
	<-f.done
	f.drain()
	f.sub.Ended()
	return f.sub.Close()
}
