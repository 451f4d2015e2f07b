// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"
)

func (rg *rig) local(credit int) (*Local, chan struct{}) {
	rg.t.Helper()
	wake := make(chan struct{}, 1)
	l, err := rg.AddLocal(credit, wake)
	if err != nil {
		rg.t.Fatal(err)
	}
	return l, wake
}

func woken(wake <-chan struct{}) bool {
	select {
	case <-wake:
		return true
	default:
		return false
	}
}

func TestLocalTakesTheNewest(t *testing.T) {
	rg := newRig(t, nil)
	l, wake := rg.local(2)
	var f Lease
	rg.publish()
	if l.Take(&f) || woken(wake) {
		t.Fatal("a reader that wants nothing got a frame")
	}
	l.Want(true)
	if !woken(wake) || !l.Take(&f) || f.Meta.Sequence != 1 {
		t.Fatalf("the retained frame did not come: %+v", f.Meta)
	}
	if l.Take(&f) {
		t.Error("a frame came twice")
	}
	rg.publish()
	rg.publish()
	if !woken(wake) || woken(wake) {
		t.Error("want one token")
	}
	if !l.Take(&f) || f.Meta.Sequence != 3 || binary.NativeEndian.Uint64(f.Data) != 3 {
		t.Errorf("took %d, want the newest, 3", f.Meta.Sequence)
	}
	if s := l.Stats(); s.Granted != 2 || s.Overwritten != 1 {
		t.Errorf("of frames 1 to 3 it had the first and the last, but %+v", s)
	}
	rg.publish()
	woken(wake)
	if l.Take(&f) || l.Held() != 2 {
		t.Error("took more than its credit")
	}
	l.Release(f.Word)
	if !woken(wake) || !l.Take(&f) || f.Meta.Sequence != 4 {
		t.Error("after a release the frame that was refused must come")
	}
	l.Want(false)
	rg.publish()
	if woken(wake) || l.Take(&f) {
		t.Error("a reader that wants nothing any more got a frame")
	}
}

// However long a Local holds its credit, the source and the other readers have
// their slots.
func TestLocalStarvesNobody(t *testing.T) {
	rg := newRig(t, func(c *Config) { c.Slots = SlotsFor(1, 2, 2) + 3 })
	l, _ := rg.local(3)
	l.Want(true)
	var f Lease
	for range 3 {
		rg.publish()
		if !l.Take(&f) {
			t.Fatal("not taken")
		}
	}
	for range 2 {
		_, v := rg.open(2, -1)
		for range 2 {
			rg.publish()
			if _, ok := take(t, v); !ok {
				t.Fatal("not taken")
			}
		}
	}
	rg.clock.Add(int64(time.Hour))
	for range 20 {
		rg.publish()
	}
	if s := rg.Stats(); s.NoSlot != 0 || s.Ended != 0 {
		t.Errorf("no slot %d times, %d readers ended", s.NoSlot, s.Ended)
	}
	if l.Oldest() < time.Hour {
		t.Errorf("the oldest lease is %v old", l.Oldest())
	}
}

// The memory outlives the ring while a lease is out: the kernel may be reading
// from it.
func TestLocalKeepsRetiredMemory(t *testing.T) {
	rg := newRig(t, nil)
	l, _ := rg.local(1)
	l.Want(true)
	rg.publish()
	var f Lease
	if !l.Take(&f) {
		t.Fatal("not taken")
	}
	l.Close()
	rg.Retire()
	if binary.NativeEndian.Uint64(f.Data) != 1 {
		t.Error("another frame lies there")
	}
	if l.Take(&f) {
		t.Error("took a frame of a retired ring")
	}
	l.Release(f.Word)
	l.Release(f.Word) // is nobody's by now
	if !rg.unmapped {
		t.Error("the memory is still there")
	}
	if _, err := rg.AddLocal(1, nil); !errors.Is(err, ErrRetired) {
		t.Errorf("got %v", err)
	}
}

func TestLocalAllocatesNothing(t *testing.T) {
	rg := newRig(t, nil)
	l, _ := rg.local(2)
	l.Want(true)
	var f Lease
	if n := testing.AllocsPerRun(200, func() {
		rg.publish()
		if l.Take(&f) {
			l.Release(f.Word)
		}
	}); n > 1 { // the Meta of publish
		t.Errorf("%v allocations a frame", n)
	}
}

// A writer, a local reader that releases elsewhere, and readers that come and
// go: no frame changes while it is held, and every slot is free in the end.
func TestLocalBesideOthers(t *testing.T) {
	rg := newRig(t, func(c *Config) { c.Slots = SlotsFor(1, 2, 2) + 2 })
	l, wake := rg.local(2)
	l.Want(true)
	const frames = 3000
	done := make(chan struct{})
	leases := make(chan Lease, 2)
	var work sync.WaitGroup
	work.Go(func() {
		defer close(leases)
		for {
			var f Lease
			for l.Take(&f) {
				leases <- f
			}
			select {
			case <-wake:
			case <-done:
				return
			}
		}
	})
	work.Go(func() {
		last := uint64(0)
		for f := range leases {
			if n := binary.NativeEndian.Uint64(f.Data); n != f.Meta.Sequence || n <= last {
				t.Errorf("frame %d holds %d after %d", f.Meta.Sequence, n, last)
			}
			last = f.Meta.Sequence
			l.Release(f.Word)
		}
	})
	for i := range frames {
		if i%100 == 0 {
			rd, v := rg.open(2, -1)
			take(t, v)
			rd.Remove()
		}
		rg.publish()
	}
	close(done)
	work.Wait()
	if u := rg.Usage(); u.Free != u.Slots-1 || u.Leased != 0 {
		t.Errorf("in the end %+v", u)
	}
}
