// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/frame"
)

// A ring whose pixels are elsewhere grants slots as any other and makes no
// memory for them.
func TestPixelsElsewhere(t *testing.T) {
	rg := newRig(t, func(c *Config) { c.Elsewhere = true })
	rd, err := rg.AddReader(1, -1)
	if err != nil {
		t.Fatal(err)
	}
	h, p, err := rg.Files()
	if err != nil || p != -1 {
		t.Fatalf("pixels are descriptor %d, %v", p, err)
	}
	defer unix.Close(h)
	v, err := OpenHeader(rg.Layout(), h)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	page, _ := rd.PageFile()
	wake, _ := rd.WakeFile()
	defer unix.Close(page)
	defer unix.Close(wake)
	if err := v.Attach(page, wake); err != nil {
		t.Fatal(err)
	}
	if string(v.Probe()) != string(rg.Probe()) {
		t.Error("the probe bytes differ")
	}
	rd.Start()
	var l Lease
	for seq := uint64(1); seq <= 20; seq++ {
		slot, err := rg.Acquire()
		if err != nil || rg.Data(slot) != nil {
			t.Fatalf("slot %d with %d bytes here, %v", slot, len(rg.Data(slot)), err)
		}
		rg.Publish(slot, &frame.Meta{Sequence: seq, Bytes: 77})
		if ok, err := v.Take(&l); !ok || err != nil {
			t.Fatalf("no frame: %v", err)
		}
		if l.Offset != rg.Offset(slot) || l.Offset+rg.Layout().StrideBytes > rg.Layout().PixelBytes || l.Meta.Bytes != 77 || l.Data != nil {
			t.Fatalf("frame %+v of slot %d", l, slot)
		}
		v.Release(l.Word)
	}
	if _, _, err := rg.Pin(); !errors.Is(err, ErrConfig) {
		t.Errorf("pinned pixels that are not here: %v", err)
	}
}

// What lies in the mailbox is a frame only while its slot says the same
// generation.
func TestTakeOfAnotherGeneration(t *testing.T) {
	rg := newRig(t, nil)
	_, v := rg.open(1, -1)
	rg.publish()
	w := Word(v.page.u64(pageMailbox).Load())
	for _, other := range []uint64{w.Generation() - 1, w.Generation() + 1} {
		v.page.u64(pageMailbox).Store(uint64(makeWord(other, w.Slot())))
		var l Lease
		if ok, err := v.Take(&l); ok || !errors.Is(err, ErrStale) {
			t.Errorf("took generation %d of a slot that has %d: %v", other, w.Generation(), err)
		}
	}
}

func TestPinKeepsTheMapping(t *testing.T) {
	rg := newRig(t, nil)
	all, unpin, err := rg.Pin()
	if err != nil || int64(len(all)) != rg.Layout().PixelBytes {
		t.Fatalf("%d bytes, %v", len(all), err)
	}
	slot, err := rg.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	rg.Data(slot)[0] = 0x5a
	if &all[rg.Offset(slot)] != &rg.Data(slot)[0] {
		t.Error("the slot is not where the pin says")
	}
	rg.Retire()
	rg.Discard(slot)
	if all[rg.Offset(slot)] != 0x5a || rg.unmapped {
		t.Error("unmapped while pinned")
	}
	unpin()
	unpin()
	if !rg.unmapped || rg.pins != 0 {
		t.Error("the mapping outlives its pin")
	}
	if _, _, err := rg.Pin(); !errors.Is(err, ErrRetired) {
		t.Errorf("pinned a retired ring: %v", err)
	}
}

// The frame with the break may be passed over on the way from ring to ring.
func TestBreakOfAFrameThatWasPassedOver(t *testing.T) {
	rg := newRig(t, nil)
	l, _ := rg.local(1)
	l.Want(true)
	var got Lease
	for _, m := range []struct {
		in   frame.Meta
		want uint64
	}{
		{frame.Meta{Sequence: 3, BreakSequence: 2}, 2},
		{frame.Meta{Sequence: 4}, 2},
		{frame.Meta{Sequence: 6, BreakSequence: 6, Flags: frame.Discontinuity}, 6},
		{frame.Meta{Sequence: 7, BreakSequence: 2}, 6},
	} {
		slot, err := rg.Acquire()
		if err != nil {
			t.Fatal(err)
		}
		rg.Publish(slot, &m.in)
		if !l.Take(&got) || got.Meta.BreakSequence != m.want {
			t.Errorf("frame %d says break %d, want %d", m.in.Sequence, got.Meta.BreakSequence, m.want)
		}
		l.Release(got.Word)
	}
}
