// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cudabuf

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/cudabuf/driver"
)

// leased is a frame of a test; back has a token when it is given back.
type leased struct {
	stale error
	back  chan struct{}
	kept  chan struct{} // closed when it was abandoned
}

func newLeased() *leased { return &leased{back: make(chan struct{}, 1), kept: make(chan struct{})} }

func (l *leased) Valid() error { return l.stale }
func (l *leased) Release()     { l.back <- struct{}{} }
func (l *leased) Abandon()     { close(l.kept) }

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newTestReaper(t testing.TB, submit, watch *driver.Thread) *Reaper {
	t.Helper()
	p, err := NewReaper(submit, watch, 2, discard())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func closed(t testing.TB, p *Reaper) {
	t.Helper()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func streams(t testing.TB, th *driver.Thread, n int) []driver.Stream {
	t.Helper()
	var all []driver.Stream
	must(t, th, func() error {
		for range n {
			s, err := th.NewStream(0)
			if err != nil {
				return err
			}
			all = append(all, s)
		}
		return nil
	})
	t.Cleanup(func() {
		must(t, th, func() error {
			var errs []error
			for _, s := range all {
				errs = append(errs, th.DestroyStream(s))
			}
			return errors.Join(errs...)
		})
	})
	return all
}

// bench is device memory that is read and written by turns, and host memory for
// it.
type bench struct {
	device     driver.Ptr
	source     []byte
	first, two []byte
}

const benchBytes = 1 << 16

func newBench(t testing.TB, th *driver.Thread) *bench {
	t.Helper()
	b := &bench{}
	must(t, th, func() (err error) {
		for _, m := range []*[]byte{&b.source, &b.first, &b.two} {
			if *m, err = th.HostAlloc(benchBytes); err != nil {
				return err
			}
		}
		if b.device, err = th.Alloc(benchBytes); err != nil {
			return err
		}
		s, err := th.NewStream(0)
		if err != nil {
			return err
		}
		return errors.Join(th.Memset8(b.device, 0, benchBytes, s), th.StreamSync(s), th.DestroyStream(s))
	})
	t.Cleanup(func() {
		must(t, th, func() error {
			return errors.Join(th.HostFree(b.source), th.HostFree(b.first), th.HostFree(b.two), th.Free(b.device))
		})
	})
	return b
}

// Whatever the GPU's delays, what was given back is not read any more: memory
// that is written anew the moment it comes back still reached both streams
// whole.
func TestGivenBackWhenRead(t *testing.T) {
	th := threads(t, 3)
	submit, watch, writer := th[0], th[1], th[2]
	b, s := newBench(t, submit), streams(t, submit, 3)
	p := newTestReaper(t, submit, watch)
	defer closed(t, p)
	for i := range byte(30) {
		must(t, writer, func() error {
			copy(b.source, bytes.Repeat([]byte{i}, benchBytes))
			if err := writer.HtoD(b.device, b.source, s[2]); err != nil {
				return err
			}
			return writer.StreamSync(s[2])
		})
		l := newLeased()
		h, err := p.Open(l)
		if err != nil {
			t.Fatal(err)
		}
		for n, dst := range [][]byte{b.first, b.two} {
			if err := h.UseOn(s[n]); err != nil {
				t.Fatal(err)
			}
			must(t, submit, func() error { return submit.DtoH(dst, b.device, s[n]) })
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		<-l.back
		for n, dst := range [][]byte{b.first, b.two} {
			if !bytes.Equal(dst, bytes.Repeat([]byte{i}, benchBytes)) {
				t.Fatalf("frame %d came back before stream %d had read it", i, n)
			}
		}
	}
	if st := p.Stats(); st.Opened != 30 || st.Released != 30 || st.Open != 0 || st.Waiting != 0 || st.Stale != 0 || st.Failed != 0 {
		t.Errorf("%+v", st)
	}
}

// A frame whose work is complete does not wait for one whose work is not.
func TestGivenBackOutOfOrder(t *testing.T) {
	th := threads(t, 2)
	b, s := newBench(t, th[0]), streams(t, th[0], 2)
	p := newTestReaper(t, th[0], th[1])
	defer closed(t, p)
	// On a machine that stands still for long both may be seen complete at once.
	for range 5 {
		slow, quick := newLeased(), newLeased()
		for i, l := range []*leased{slow, quick} {
			h, err := p.Open(l)
			if err != nil {
				t.Fatal(err)
			}
			if err := h.UseOn(s[i]); err != nil {
				t.Fatal(err)
			}
			if l == slow {
				must(t, th[0], func() error {
					for range 100 {
						if err := th[0].DtoH(b.first, b.device, s[0]); err != nil {
							return err
						}
					}
					return nil
				})
			}
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
		}
		<-quick.back
		select {
		case <-slow.back:
			continue
		default:
		}
		<-slow.back
		return
	}
	t.Error("a frame always waits for the one before")
}

func TestMisuse(t *testing.T) {
	th := threads(t, 2)
	b := newBench(t, th[0])
	s := streams(t, th[0], 1)[0]
	p := newTestReaper(t, th[0], th[1])
	l := newLeased()
	h, err := p.Open(l)
	if err != nil {
		t.Fatal(err)
	}
	for _, default_ := range []driver.Stream{0, 1, 2} {
		if err := h.UseOn(default_); !errors.Is(err, ErrStream) {
			t.Errorf("stream %d: %v", default_, err)
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-l.back: // at once: there is no work
	default:
		t.Error("a frame without work is not given back")
	}
	if err := h.Close(); !errors.Is(err, ErrReadClosed) {
		t.Errorf("second Close: %v", err)
	}
	if err := h.UseOn(s); !errors.Is(err, ErrReadClosed) || h.Uses(s) {
		t.Errorf("use after Close: %v", err)
	}
	if err := (ReadHandle{}).Close(); !errors.Is(err, ErrReadClosed) {
		t.Errorf("Close of nothing: %v", err)
	}

	// The inside is another frame's now.
	last := newLeased()
	next, err := p.Open(last)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); !errors.Is(err, ErrReadClosed) {
		t.Errorf("Close of a frame that was: %v", err)
	}
	if err := next.UseOn(s); err != nil {
		t.Error(err)
	}
	p.patience = 1
	if err := p.Close(); !errors.Is(err, ErrInUse) {
		t.Errorf("Close with an open frame: %v", err)
	}
	if _, err := p.Open(newLeased()); !errors.Is(err, ErrReadClosed) {
		t.Errorf("Open after Close: %v", err)
	}
	must(t, th[0], func() error { return th[0].DtoH(b.first, b.device, s) })
	if err := next.Close(); err != nil {
		t.Error(err)
	}
	p.patience = reapPatience
	closed(t, p)
	select {
	case <-last.back:
	default:
		t.Error("the end came before a frame that was open was given back")
	}
}

// Close of the reaper waits for work on frames that the program has given back.
func TestEndWaitsForWork(t *testing.T) {
	th := threads(t, 2)
	b, s := newBench(t, th[0]), streams(t, th[0], 1)
	for range 3 {
		p := newTestReaper(t, th[0], th[1])
		l := newLeased()
		h, err := p.Open(l)
		if err != nil {
			t.Fatal(err)
		}
		must(t, th[0], func() error {
			return errors.Join(h.UseOn(s[0]), th[0].DtoH(b.first, b.device, s[0]), th[0].DtoH(b.two, b.device, s[0]))
		})
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		closed(t, p)
		select {
		case <-l.back:
		default:
			t.Error("the end came before the frame was given back")
		}
	}
}

// A frame on a stream that cannot be told any more comes back when all work is
// complete.
func TestDestroyedStream(t *testing.T) {
	th := threads(t, 2, "S15") // the stream is not there
	b := newBench(t, th[0])
	p := newTestReaper(t, th[0], th[1])
	defer closed(t, p)
	l := newLeased()
	h, err := p.Open(l)
	if err != nil {
		t.Fatal(err)
	}
	must(t, th[0], func() error {
		s, err := th[0].NewStream(0)
		if err != nil {
			return err
		}
		if err := h.UseOn(s); err != nil {
			return err
		}
		b.first[benchBytes-1] = 0xff
		if err := th[0].Memset8(b.device, 7, benchBytes, s); err != nil {
			return err
		}
		if err := th[0].DtoH(b.first, b.device, s); err != nil {
			return err
		}
		return th[0].DestroyStream(s)
	})
	if err := h.Close(); !errors.Is(err, ErrStream) {
		t.Errorf("Close: %v", err)
	}
	<-l.back
	if b.first[benchBytes-1] != 7 {
		t.Error("the frame came back before its work was complete")
	}
	if st := p.Stats(); st.Failed != 1 {
		t.Errorf("%+v", st)
	}
}

// What was overwritten by force while the GPU read it is said.
func TestStaleAfterCompletion(t *testing.T) {
	th := threads(t, 2)
	s := streams(t, th[0], 1)[0]
	p := newTestReaper(t, th[0], th[1])
	defer closed(t, p)
	l := newLeased()
	l.stale = errors.New("generation 9, not 8")
	h, err := p.Open(l)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.UseOn(s), h.Close()); err != nil {
		t.Fatal(err)
	}
	<-l.back
	if st := p.Stats(); st.Stale != 1 {
		t.Errorf("%+v", st)
	}
}

// A driver that does not answer keeps nobody, and what it may still read is not
// given back.
func TestDriverThatHangs(t *testing.T) {
	for name, which := range map[string]int{"marking": 0, "asking": 1} {
		t.Run(name, func(t *testing.T) {
			th := threads(t, 2)
			s := streams(t, th[0], 1)[0]
			p := newTestReaper(t, th[0], th[1])
			l, unused := newLeased(), newLeased()
			h, err := p.Open(l)
			if err != nil {
				t.Fatal(err)
			}
			without, err := p.Open(unused)
			if err != nil {
				t.Fatal(err)
			}
			if err := h.UseOn(s); err != nil {
				t.Fatal(err)
			}
			hangs, entered, over := make(chan struct{}), make(chan struct{}), make(chan error)
			go func() {
				over <- th[which].Do(func() error { close(entered); <-hangs; return nil })
			}()
			<-entered
			p.limit = time.Millisecond
			if err := h.Close(); errors.Is(err, driver.ErrTimeout) != (which == 0) {
				t.Errorf("Close: %v", err)
			}
			<-l.kept
			if err := without.Close(); err != nil {
				t.Error(err)
			}
			<-unused.back // the GPU never had it
			if err := p.Close(); !errors.Is(err, driver.ErrTimeout) {
				t.Errorf("the end: %v", err)
			}
			if st := p.Stats(); st.Failed == 0 || st.Waiting != 0 || st.Open != 0 {
				t.Errorf("%+v", st)
			}
			close(hangs)
			if err := <-over; err != nil {
				t.Error(err)
			}
			must(t, th[0], func() error {
				var errs []error
				for _, r := range p.all {
					for _, ev := range r.events {
						errs = append(errs, th[0].DestroyEvent(ev))
					}
				}
				return errors.Join(errs...)
			})
		})
	}
}

// What a frame costs: a call of the driver for each stream to mark it, and those
// that ask for it; no allocation.
func TestCostOfReading(t *testing.T) {
	th := threads(t, 2)
	s := streams(t, th[0], 2)
	p := newTestReaper(t, th[0], th[1])
	defer closed(t, p)
	l := newLeased()
	read := func() {
		h, err := p.Open(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range s {
			if err := h.UseOn(s); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		<-l.back
	}
	read()
	const frames = 50
	before := th[0].Calls()
	if n := testing.AllocsPerRun(frames-1, read); n != 0 && !raceDetector {
		t.Errorf("%v allocations for a frame", n)
	}
	if calls := th[0].Calls() - before; calls != frames*2 {
		t.Errorf("%d calls to mark %d frames on two streams", calls, frames)
	}
	h, err := p.Open(l)
	if err != nil {
		t.Fatal(err)
	}
	if h.Uses(s[0]) {
		t.Error("a frame has the streams of the one before")
	}
	if err := h.Close(); err != nil || th[0].Calls() != before+frames*2 {
		t.Errorf("a frame that is not read costs %d calls: %v", th[0].Calls()-before-frames*2, err)
	}
	<-l.back
}
