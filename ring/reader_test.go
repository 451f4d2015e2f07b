// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/frame"
)

// A message has room for an index, not for a count of all readers that ever
// were: a ring lives for months.
func TestReaderIDsAreReused(t *testing.T) {
	rg := newRig(t, nil)
	stay, err := rg.AddReader(1, -1)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		rd, err := rg.AddReader(1, -1)
		if err != nil {
			t.Fatal(err)
		}
		if rd.ID() == stay.ID() || rd.ID() < 0 || rd.ID() > 1 {
			t.Fatalf("id %d beside %d in a ring for 2 readers", rd.ID(), stay.ID())
		}
		rd.Remove()
	}
}

// A client that was cut off and does not know it yet must not take what it has
// no lease of.
func TestRemoveTakesTheWaitingFrameBack(t *testing.T) {
	rg := newRig(t, nil)
	rd, v := rg.open(1, -1)
	rg.publish()
	rd.Remove()
	if l, ok := take(t, v); ok {
		t.Errorf("took frame %d after the writer removed the reader", l.Meta.Sequence)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestNothingIsLeftOpen(t *testing.T) {
	cases := map[string]func(rg *rig, rd *Reader){
		"removed, then retired": func(rg *rig, rd *Reader) { rd.Remove(); rg.Retire() },
		"retired, then removed": func(rg *rig, rd *Reader) { rg.Retire(); rd.Remove() },
		"retired while the source writes": func(rg *rig, rd *Reader) {
			slot, err := rg.Acquire()
			if err != nil {
				rg.t.Fatal(err)
			}
			rg.Retire()
			rg.Discard(slot)
			rd.Remove()
		},
		"evicted": func(rg *rig, rd *Reader) {
			rg.mu.Lock()
			rg.end(rd, ErrMisbehaved)
			rg.mu.Unlock()
			rg.Retire()
			rd.Remove()
		},
		"everything twice": func(rg *rig, rd *Reader) { rd.Remove(); rd.Remove(); rg.Retire(); rg.Retire() },
	}
	for name, end := range cases {
		t.Run(name, func(t *testing.T) {
			before := openFiles(t)
			rg := newRig(t, nil)
			var p [2]int
			if err := unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			rd, v := rg.open(2, p[1])
			rg.publish()
			wantFrame(t, v, rg.publish())
			end(rg, rd)
			_ = unix.Close(p[0])
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
			if n := openFiles(t); n != before {
				t.Errorf("%d files open, before the ring %d", n, before)
			}
			rd.Kick() // late messages of its client
			rd.Start()
			if i := rd.Info(); i.Oldest != 0 {
				t.Errorf("a reader that is over holds something: %+v", i)
			}
		})
	}
}

// TestRetireAmongEverything has every method meet Retire; the race detector and
// the kernel judge.
func TestRetireAmongEverything(t *testing.T) {
	for range 50 {
		rg := newRig(t, func(c *Config) { c.Slots, c.MaxReaders = SlotsFor(2, 4, 2), 4 })
		var rds []*Reader
		var views []*View
		for range 2 {
			rd, v := rg.open(2, -1)
			rds, views = append(rds, rd), append(views, v)
		}
		var all sync.WaitGroup
		start := make(chan struct{})
		each := func(f func()) {
			all.Add(1)
			go func() {
				defer all.Done()
				<-start
				f()
			}()
		}
		each(func() {
			var m frame.Meta
			for range 50 {
				slot, err := rg.Acquire()
				if err != nil {
					return
				}
				rg.Publish(slot, &m)
			}
		})
		for i, rd := range rds {
			each(func() {
				var l Lease
				for range 50 {
					views[i].Arm()
					if ok, err := views[i].Take(&l); ok && err == nil {
						views[i].Release(l.Word)
					}
					views[i].Disarm()
				}
			})
			each(func() {
				for range 20 {
					rd.Kick()
					_ = rd.Info()
					if fd, err := rd.PageFile(); err == nil {
						_ = unix.Close(fd)
					}
				}
				rd.Remove()
			})
		}
		each(func() {
			for range 5 {
				if h, p, err := rg.Files(); err == nil {
					_, _ = unix.Close(h), unix.Close(p)
				}
				if rd, err := rg.AddReader(1, -1); err == nil {
					rd.Start()
					rd.Remove()
				}
				_, _, _ = rg.Usage(), rg.Stats(), rg.Probe()
			}
			rg.Retire()
		})
		close(start)
		all.Wait()
		if !rg.unmapped {
			t.Fatal("a retired ring whose source holds nothing is still mapped")
		}
	}
}

func TestForgetLeavesNothingForLateJoiners(t *testing.T) {
	rg := newRig(t, nil)
	_, early := rg.open(1, -1)
	held := wantFrame(t, early, rg.publish())
	rg.Forget()
	rg.Forget()
	_, late := rg.open(1, -1)
	if l, ok := take(t, late); ok {
		t.Fatalf("a late reader got the forgotten frame %d", l.Meta.Sequence)
	}
	if u := rg.Usage(); u.Free != u.Slots-1 || u.Leased != 1 {
		t.Errorf("after forgetting a frame that one reader holds: %+v", u)
	}
	early.Release(held.Word)
	next := rg.publish()
	wantFrame(t, late, next)
	wantFrame(t, early, next)
}
