// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// errDone ends a measurement whose --duration is over.
var errDone = errors.New("done")

// meter is what a command does with frames. frame and the others never run at
// the same time.
type meter interface {
	// frame sees a frame while it is held. It reports whether the frame
	// counts for --count. It must not allocate.
	frame(f heldFrame) (counts bool, err error)
	// idle runs after the frame was released; what it returns is printed.
	idle() (string, error)
	// tick runs once a second beside the loop; what it returns is printed.
	tick(nowNanos int64) string
	// end runs last; what it returns is printed.
	end(s summary) (string, error)
}

// summary is what every command knows at its end.
type summary struct {
	stream     string
	path       client.Path
	frames     uint64 // without skipped
	skipped    uint64 // ready before the subscription began
	stats      client.Stats
	nowNanos   int64 // the moment of the end
	tookNanos  int64 // since the subscription began
	verify     verifyResult
	verifyUsed bool
}

// runner takes frames of one stream and feeds a meter.
type runner struct {
	world
	asked  string // what the user wrote
	stream string
	limits *limitFlags
	found  []client.Option // of what tells which streams there are
	opts   []client.Option
	pace   pace
	stdout io.Writer
	notes  *notes
	meter  meter
	begin  func() string // what to print once subscribed; may be nil
	// fresh leaves out frames that were ready before the subscription began:
	// they waited for it, and say nothing about how frames come. skip is called
	// for each of them; it may be nil.
	fresh bool
	skip  func()
	// ages: the publisher's clock is compared with this host's.
	ages bool
	// untilEnd ends the command, in place of waiting, when the camera has come
	// to its end.
	untilEnd bool

	sub     subscription
	cancel  context.CancelCauseFunc
	waiting atomic.Int64 // since when Next waits, monotonic; 0 = it does not
	began   atomic.Int64 // when frames could begin to come, monotonic
	mu      sync.Mutex   // loop against ticks
	frames  uint64       // without those that were left out
	skipped uint64
	check   verifier

	unreadSaid bool
	failed     error // why the first frame could not be read
}

// run subscribes, measures until a limit, a signal or a failure, and prints
// the end of it.
func (r *runner) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.cancel = cancel
	r.waiting.Store(r.now())
	r.opts = append(r.opts, client.WithEvents(r.event))
	if r.fresh {
		r.opts = append(r.opts, client.WithoutHistory())
	}

	var watched sync.WaitGroup
	defer watched.Wait()
	defer cancel(nil)
	watched.Go(func() { r.watch(ctx, cancel) })

	sub, err := r.subscribe(ctx, r.stream, r.opts...)
	if err != nil {
		return r.explain(ctx, causeOr(ctx, err))
	}
	r.mu.Lock()
	r.sub = sub
	r.mu.Unlock()
	defer sub.Close()
	r.notes.subscribed(r.stream, sub)

	began := r.now()
	r.waiting.Store(began)
	r.began.Store(began)
	if r.begin != nil {
		if err := r.print(r.begin()); err != nil {
			return err
		}
	}
	if r.limits.duration > 0 {
		stop := time.AfterFunc(time.Duration(r.limits.duration), func() { cancel(errDone) })
		defer stop.Stop()
	}
	err = causeOr(ctx, r.loop(ctx))
	cancel(nil)
	watched.Wait()
	if err := r.finish(began, err); err != nil {
		return err
	}
	return nil
}

// loop is the measured path: nothing in it allocates once it runs.
func (r *runner) loop(ctx context.Context) error {
	var counted uint64
	first := true
	for r.limits.count == 0 || counted < r.limits.count {
		r.waiting.Store(r.now())
		f, err := r.sub.Next(ctx)
		r.waiting.Store(0)
		if err != nil {
			return err
		}
		if first {
			first = false
			r.notes.firstFrame(r.stream, r.sub)
			if p := r.sub.Path(); r.ages && p.Topic != "" && p.Dir == "" {
				r.notes.say("%s: ages go by the publisher's clock: across hosts they are right only as far as both are synchronised", r.stream)
			}
		}
		counts, err := r.handle(ctx, f)
		if err != nil {
			return err
		}
		if counts {
			counted++
		}
		r.mu.Lock()
		text, err := r.meter.idle()
		r.mu.Unlock()
		if err == nil {
			err = r.print(text)
		}
		if err != nil {
			return err
		}
		if err := r.pace.between(ctx); err != nil {
			return err
		}
	}
	return nil
}

// handle works on one held frame and releases it.
func (r *runner) handle(ctx context.Context, f heldFrame) (bool, error) {
	if r.pace.forever {
		return r.keep(ctx, f)
	}
	defer f.Release()
	if r.limits.verify {
		r.check.take(f)
		if why := unread(f); why != nil {
			r.check.release(f)
			r.sayUnread(why)
			return false, nil
		}
		defer r.verifyAgain(f)
	}
	counts, err := r.measure(f)
	if err != nil {
		return false, err
	}
	return counts, r.pace.hold(ctx)
}

// verifyAgain looks at a frame once more before it is released.
func (r *runner) verifyAgain(f heldFrame) {
	r.check.release(f)
	if why := unread(f); why != nil {
		r.sayUnread(why)
	}
}

// sayUnread says the first reason for which a frame could not be read, and has
// the command fail, unless the GPU is lost: frames come by another path then.
func (r *runner) sayUnread(why error) {
	if !r.unreadSaid {
		r.unreadSaid = true
		r.notes.say("%s: a frame could not be read: %v", r.stream, why)
	}
	if err := r.unreadable(why); err != nil && r.failed == nil {
		r.failed = err
	}
}

// measure shows a frame to the meter, unless it was there before.
func (r *runner) measure(f heldFrame) (bool, error) {
	// Frames that come by cpu say nothing about when they were ready.
	if ready := f.Meta().ReadyNanos; r.fresh && ready != 0 && ready < r.began.Load() {
		r.skipped++
		if r.skip != nil {
			r.skip()
		}
		return false, nil
	}
	r.frames++
	r.mu.Lock()
	defer r.mu.Unlock()
	counts, err := r.meter.frame(f)
	if why := unread(f); why != nil && err != nil {
		// What the command says of a frame without contents says nothing.
		return false, r.unreadable(why)
	}
	return counts, err
}

// unreadable is the error for a frame that could not be read: none where the GPU
// failed, because frames come by another path then.
func (r *runner) unreadable(why error) error {
	if errors.Is(why, gpu.ErrLost) {
		return nil
	}
	return fmt.Errorf("%w: %w", errUnread, why)
}

// keep is --hold forever: it collects frames until the credit is used up, then
// sits on them until the command ends.
func (r *runner) keep(ctx context.Context, f heldFrame) (bool, error) {
	if r.limits.verify {
		r.check.take(f)
	}
	r.pace.kept = append(r.pace.kept, f)
	counts, err := r.measure(f)
	if err != nil || len(r.pace.kept) < max(r.sub.Path().Credit, 1) {
		return counts, err
	}
	r.notes.say("%s: holding %d frames until the end", r.stream, len(r.pace.kept))
	<-ctx.Done()
	return counts, ctx.Err()
}

// finish releases what is kept, prints the summary and decides how it ended.
func (r *runner) finish(began int64, err error) error {
	for _, f := range r.pace.kept {
		if r.limits.verify {
			r.check.release(f)
		}
		f.Release()
	}
	now := r.now()
	s := summary{
		stream: r.stream, path: r.sub.Path(), frames: r.frames, skipped: r.skipped, stats: r.sub.Stats(), nowNanos: now, tookNanos: now - began,
		verify: r.check.result(), verifyUsed: r.limits.verify,
	}
	if text, endErr := r.meter.end(s); endErr != nil {
		err = errors.Join(err, endErr)
	} else if printErr := r.print(text); printErr != nil {
		err = errors.Join(err, printErr)
	}
	r.notes.ignored(r.stream, s.stats)
	if s.verifyUsed {
		unread := ""
		if n := s.verify.Unread; n > 0 {
			unread = fmt.Sprintf(", %d not read", n)
		}
		r.notes.say("verified %d frames: %d torn, %d stale, %d gaps%s", s.verify.Frames, s.verify.Torn, s.verify.Stale, s.stats.Missed, unread)
		if bad := s.verify.err(); bad != nil {
			return bad
		}
	}
	if r.failed != nil {
		err = errors.Join(err, r.failed)
	}
	return err
}

// print writes a text and a newline; "" is nothing.
func (r *runner) print(text string) error {
	if text == "" {
		return nil
	}
	if _, err := io.WriteString(r.stdout, text+"\n"); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	return nil
}

// event is called by the client when something changes.
func (r *runner) event(e client.Event) {
	r.notes.event(r.stream, e)
	switch e.Kind {
	case client.EventConnected, client.EventReconfigured:
		r.began.Store(r.now())
	case client.EventEnded:
		if r.untilEnd {
			r.cancel(errDone)
		}
	}
}

// causeOr is nil for an end that was asked for, the cause of a cancelled
// context if it has one, else err.
func causeOr(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, errDone) || errors.Is(cause, context.Canceled) {
		return nil
	}
	return cause
}

// explain adds the names of known streams to an unknown one.
func (r *runner) explain(ctx context.Context, err error) error {
	return explainUnknown(ctx, r.world, r.asked, r.found, err)
}

// info is what the daemon said about the stream when the frames at hand began.
func (r *runner) info() negotiate.StreamInfo { return r.sub.Info() }

// state is what the daemon says about a stream now; ok is false if it is not
// to be had.
func (r *runner) state(ctx context.Context) (negotiate.StreamInfo, bool) {
	daemons, err := r.list(ctx, r.found...)
	if err != nil {
		return negotiate.StreamInfo{}, false
	}
	_, name := client.SplitHost(r.stream)
	for _, d := range daemons {
		for _, s := range d.Streams {
			if s.Name == name {
				return s, true
			}
		}
	}
	return negotiate.StreamInfo{}, false
}
