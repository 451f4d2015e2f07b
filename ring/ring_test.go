// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/frame"
)

// rig is a ring with its clock in the test's hand.
type rig struct {
	*Ring
	t     testing.TB
	clock atomic.Int64
	gen   atomic.Uint64
	seq   uint64
}

func newRig(t testing.TB, change func(*Config)) *rig {
	t.Helper()
	g, err := frame.NewGeometry(frame.Mono8, 64, 64)
	if err != nil {
		t.Fatal(err)
	}
	rg := &rig{t: t}
	cfg := Config{
		Name: "test/color", Session: frame.Session{1}, Epoch: 1, Geometry: g,
		Slots: SlotsFor(1, 2, 2), MaxReaders: 2, Generation: &rg.gen,
		EvictAfter: 5 * time.Second, Now: rg.clock.Load,
	}
	if change != nil {
		change(&cfg)
	}
	if rg.Ring, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rg.Retire)
	return rg
}

// publish sends one frame whose first 8 bytes and sequence are its number.
func (rg *rig) publish() uint64 {
	rg.t.Helper()
	slot, err := rg.Acquire()
	if err != nil {
		rg.t.Fatal(err)
	}
	return rg.commit(slot)
}

func (rg *rig) commit(slot int) uint64 {
	rg.seq++
	data := rg.Data(slot)
	binary.NativeEndian.PutUint64(data, rg.seq)
	rg.Publish(slot, &frame.Meta{Sequence: rg.seq, Bytes: len(data)})
	return rg.seq
}

// open subscribes in this process, through its own mappings.
func (rg *rig) open(credit, pipe int) (*Reader, *View) {
	rg.t.Helper()
	return rg.openOf(0, credit, pipe)
}

func (rg *rig) openOf(user, credit, pipe int) (*Reader, *View) {
	rg.t.Helper()
	rd, err := rg.AddReaderOf(user, credit, pipe)
	if err != nil {
		rg.t.Fatal(err)
	}
	h, p, err := rg.Files()
	if err != nil {
		rg.t.Fatal(err)
	}
	v, err := OpenView(rg.Layout(), h, p)
	if err != nil {
		rg.t.Fatal(err)
	}
	page, err := rd.PageFile()
	if err != nil {
		rg.t.Fatal(err)
	}
	wake, err := rd.WakeFile()
	if err != nil {
		rg.t.Fatal(err)
	}
	if err := v.Attach(page, wake); err != nil {
		rg.t.Fatal(err)
	}
	for _, fd := range []int{h, p, page, wake} {
		_ = unix.Close(fd)
	}
	rg.t.Cleanup(func() { _ = v.Close() })
	rd.Start()
	return rd, v
}

func take(t testing.TB, v *View) (Lease, bool) {
	t.Helper()
	var l Lease
	ok, err := v.Take(&l)
	if err != nil {
		t.Fatal(err)
	}
	if ok && binary.NativeEndian.Uint64(l.Data) != l.Meta.Sequence {
		t.Fatalf("frame %d carries number %d", l.Meta.Sequence, binary.NativeEndian.Uint64(l.Data))
	}
	return l, ok
}

// wantEnded fails unless the ring has ended the reader: it does so within the
// call that finds the fault.
func wantEnded(t testing.TB, rd *Reader) {
	t.Helper()
	select {
	case <-rd.Done():
	default:
		t.Fatal("the ring did not end the reader")
	}
}

func wantFrame(t testing.TB, v *View, seq uint64) Lease {
	t.Helper()
	l, ok := take(t, v)
	if !ok || l.Meta.Sequence != seq {
		t.Fatalf("took frame %d (%v), want %d", l.Meta.Sequence, ok, seq)
	}
	return l
}

func TestNewestWinsWhileHolding(t *testing.T) {
	for credit := 1; credit <= 3; credit++ {
		rg := newRig(t, func(c *Config) { c.Slots = SlotsFor(1, 2, 3) })
		rd, v := rg.open(credit, -1)
		first := rg.publish()
		held := wantFrame(t, v, first)
		var last uint64
		for range 20 {
			last = rg.publish()
		}
		v.Release(held.Word)
		if credit == 1 {
			// The waiting word is extra to the one held and was replaced each time.
			wantFrame(t, v, last)
		} else {
			next := wantFrame(t, v, last)
			v.Release(next.Word)
		}
		if got := rd.Info(); got.Overwritten != 19 {
			t.Errorf("credit %d: %d words overwritten, want 19", credit, got.Overwritten)
		}
	}
}

func TestSkippedReaderGetsNewestOnRelease(t *testing.T) {
	rg := newRig(t, nil)
	rd, v := rg.open(1, -1)
	a := wantFrame(t, v, rg.publish())
	b := rg.publish()
	second := wantFrame(t, v, b) // the waiting word is extra: the reader now has credit+1
	last := uint64(0)
	for range 3 {
		last = rg.publish()
	}
	if _, ok := take(t, v); ok {
		t.Fatal("a frame beyond credit")
	}
	if !v.Release(a.Word) {
		t.Fatal("release after a skipped grant does not ask for a kick")
	}
	if _, ok := take(t, v); ok {
		t.Fatal("a frame without the writer knowing of the release")
	}
	rd.Kick()
	wantFrame(t, v, last)
	v.Release(second.Word)
}

func TestJoinGetsRetainedFrame(t *testing.T) {
	rg := newRig(t, nil)
	rg.publish()
	last := rg.publish()
	_, v := rg.open(1, -1)
	wantFrame(t, v, last)
}

func TestSlowReadersNeverStarveTheWriter(t *testing.T) {
	rg := newRig(t, nil)
	_, a := rg.open(2, -1)
	_, b := rg.open(2, -1)
	for i := range 200 {
		rg.publish()
		if i < 3 {
			take(t, a) // both take all that they may and keep it
			take(t, b)
		}
	}
	if n := rg.Stats().NoSlot; n != 0 {
		t.Errorf("%d frames found no slot", n)
	}
}

func TestAddReaderFull(t *testing.T) {
	rg := newRig(t, func(c *Config) { c.Budget = 5 })
	rd, err := rg.AddReader(2, -1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rg.AddReader(2, -1); !errors.Is(err, ErrFull) {
		t.Errorf("beyond the budget: %v, want ErrFull", err)
	}
	if _, err := rg.AddReader(1, -1); err != nil {
		t.Errorf("within the budget: %v", err)
	}
	if _, err := rg.AddReader(1, -1); !errors.Is(err, ErrFull) {
		t.Errorf("a third of two readers: %v, want ErrFull", err)
	}
	rd.Remove()
	if _, err := rg.AddReader(2, -1); err != nil {
		t.Errorf("after one left: %v", err)
	}
}

func TestEvictionOnlyUnderPressure(t *testing.T) {
	rg := newRig(t, func(c *Config) { c.Slots = 3 })
	rd, v := rg.open(2, -1)
	held := wantFrame(t, v, rg.publish())
	rg.clock.Store(int64(time.Hour))
	rg.publish()
	if rd.Err() != nil {
		t.Fatalf("evicted by age alone: %v", rd.Err())
	}
	second, _ := take(t, v)
	rg.clock.Add(int64(time.Minute))
	rg.publish() // the third slot, now retained
	if _, err := rg.Acquire(); !errors.Is(err, ErrNoSlot) {
		t.Fatalf("acquired a slot that is in use: %v", err)
	}
	wantEnded(t, rd)
	if !errors.Is(rd.Err(), ErrHeldTooLong) || !v.Evicted() {
		t.Fatalf("ended with %v, evicted flag %v", rd.Err(), v.Evicted())
	}
	if _, err := rg.Acquire(); !errors.Is(err, ErrNoSlot) {
		t.Fatal("the slots of an evicted reader were reused before it was gone")
	}
	if err := v.Check(held.Word); err != nil {
		t.Fatal(err)
	}
	rd.Remove()
	for range 2 {
		if _, err := rg.Acquire(); err != nil {
			t.Fatal(err)
		}
	}
	if !errors.Is(v.Check(held.Word), ErrStale) || !errors.Is(v.Check(second.Word), ErrStale) {
		t.Error("reuse after eviction does not show in the generation")
	}
}

func TestWakeCounts(t *testing.T) {
	rg := newRig(t, func(c *Config) { c.Slots, c.MaxReaders = SlotsFor(1, 8, 2), 8 })
	var views []*View
	for range 8 {
		_, v := rg.open(2, -1)
		views = append(views, v)
	}
	rg.publish()
	if n := rg.Stats().FutexWakes; n != 0 {
		t.Errorf("%d wake-ups though nobody waits", n)
	}
	for _, v := range views {
		v.Arm()
	}
	rg.publish()
	if n := rg.Stats().FutexWakes; n != 1 {
		t.Errorf("%d wake-ups for 8 waiting readers, want 1", n)
	}
	for range 5 {
		rg.publish()
	}
	if n := rg.Stats().FutexWakes; n != 1 {
		t.Errorf("%d wake-ups after 5 more frames to readers that do not come back, want still 1", n)
	}
}

func TestPipeWake(t *testing.T) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	rg := newRig(t, nil)
	rd, v := rg.open(2, p[1])
	v.Arm()
	rg.publish()
	var b [8]byte
	if n, err := unix.Read(p[0], b[:]); n != 1 || err != nil {
		t.Fatalf("read %d bytes, %v; want 1", n, err)
	}
	_ = unix.Close(p[0])
	v.Arm()
	rg.publish()
	wantEnded(t, rd)
	if !errors.Is(rd.Err(), ErrWakeClosed) {
		t.Errorf("a closed pipe ended the reader with %v", rd.Err())
	}
}

// A reader that lets its wake-ups pile up costs the writer nothing.
func TestFullPipe(t *testing.T) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(p[0])
	rg := newRig(t, nil)
	rd, v := rg.open(2, p[1])
	for range 2000 {
		v.Arm()
		rg.publish()
	}
	if _, err := unix.Write(p[1], wakeByte); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("the pipe is not full: %v", err)
	}
	if rd.Err() != nil {
		t.Errorf("ended with %v", rd.Err())
	}
}

// Readers of different users share no futex: each user's costs one system call,
// and what one does on its word does not reach the other.
func TestFutexPerUser(t *testing.T) {
	rg := newRig(t, func(c *Config) { c.Slots, c.MaxReaders = SlotsFor(1, 6, 2), 6 })
	var views []*View
	for i := range 6 {
		_, v := rg.openOf(1000+i%2, 2, -1)
		views = append(views, v)
	}
	for _, v := range views {
		v.Arm()
	}
	rg.publish()
	if n := rg.Stats().FutexWakes; n != 2 {
		t.Errorf("%d wake-ups for the readers of two users, want 2", n)
	}
	if n := len(rg.groups); n != 2 {
		t.Errorf("%d words of wake-ups, want 2", n)
	}
}

func TestRetire(t *testing.T) {
	rg := newRig(t, nil)
	_, v := rg.open(2, -1)
	held := wantFrame(t, v, rg.publish())
	rg.publish()
	slot, err := rg.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	rg.Retire()
	if _, ok := take(t, v); ok {
		t.Error("took a frame from a retired ring")
	}
	if !v.Retired() {
		t.Error("the header does not say that the ring is retired")
	}
	rg.commit(slot) // the source may still finish its slot
	if rg.hdr.FD >= 0 {
		t.Error("memory still open after the source's last slot")
	}
	if binary.NativeEndian.Uint64(held.Data) != 1 || v.Check(held.Word) != nil {
		t.Error("a held frame changed when its ring was retired")
	}
	if _, err := rg.AddReader(1, -1); !errors.Is(err, ErrRetired) {
		t.Errorf("AddReader: %v, want ErrRetired", err)
	}
}

func TestPublishAllocatesNothing(t *testing.T) {
	rg := newRig(t, nil)
	_, v := rg.open(2, -1)
	var l Lease
	var m frame.Meta
	if n := testing.AllocsPerRun(1000, func() {
		slot, err := rg.Acquire()
		if err != nil {
			t.Fatal(err)
		}
		v.Arm()
		rg.Publish(slot, &m)
		if ok, err := v.Take(&l); !ok || err != nil {
			t.Fatal(ok, err)
		}
		v.Disarm()
		v.Release(l.Word)
	}); n != 0 {
		t.Errorf("%v allocations a frame, want 0", n)
	}
}

// BenchmarkHandover is the protocol's own work for a frame: acquire, publish,
// take, release, drain; no system call, since nobody sleeps.
func BenchmarkHandover(b *testing.B) {
	rg := newRig(b, nil)
	_, v := rg.open(2, -1)
	var l Lease
	var m frame.Meta
	b.ReportAllocs()
	for b.Loop() {
		slot, err := rg.Acquire()
		if err != nil {
			b.Fatal(err)
		}
		rg.Publish(slot, &m)
		if ok, err := v.Take(&l); !ok || err != nil {
			b.Fatal(ok, err)
		}
		v.Release(l.Word)
	}
}
