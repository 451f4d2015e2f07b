// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"errors"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
)

// A driver that writes beyond the frame's bytes must stay within its slot.
func TestSlotsWithRoomBeyondTheFrame(t *testing.T) {
	const room = 64*64 + 5000
	rg := newRig(t, func(c *Config) { c.SlotBytes = room })
	_, view := rg.open(2, 0)
	slots := rg.Layout().Slots
	for i := range slots {
		d := rg.Data(i)
		if len(d) != 64*64 || cap(d) != room {
			t.Fatalf("slot %d: %d bytes, capacity %d; want %d and %d", i, len(d), cap(d), 64*64, room)
		}
		whole := d[:cap(d)]
		for k := range whole {
			whole[k] = byte(i + 1)
		}
	}
	for i := range slots {
		d := rg.Data(i)
		for k, b := range d[:cap(d)] {
			if b != byte(i+1) {
				t.Fatalf("slot %d, byte %d was written with another slot: %d", i, k, b)
			}
		}
	}
	rg.publish()
	var l Lease
	if ok, err := view.Take(&l); !ok || err != nil || len(l.Data) != 64*64 {
		t.Fatalf("took %v %v, %d bytes; want the frame alone", ok, err, len(l.Data))
	}
}

func TestSlotBytesOutOfBounds(t *testing.T) {
	for _, n := range []int{-1, frame.MaxBytes + 1} {
		rg := newRig(t, nil)
		cfg := rg.cfg
		cfg.SlotBytes = n
		if r, err := New(cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%d bytes a slot: %v, %v; want %v", n, r, err, ErrConfig)
		}
	}
}
