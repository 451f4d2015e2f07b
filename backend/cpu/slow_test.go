// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

// While the network takes nothing, the source has its slots, the newest frame
// waits, and no slot is held for longer than it may be.
func TestSlowNetwork(t *testing.T) {
	rg := newRig(t, nil)
	g := geometry(t, frame.RGB8, 64, 48, 0)
	rg.open(g)
	image := rg.topic(testTopic)
	image.slow.Store(true)
	data := noise(g)
	var under sample
	replaced := 0
	for i := range 100 {
		rg.clock.Add(int64(100 * time.Millisecond))
		rg.publish(data)
		s := rg.next(image)
		switch {
		case i == 0:
			under = s // is being sent, for ever
		case i > 1:
			s.done(false) // gave way, as far as the session's order of things matters here
			replaced++
		}
	}
	if s := rg.ring.Stats(); s.NoSlot > 0 {
		t.Errorf("no slot %d times", s.NoSlot)
	}
	st := rg.status(testTopic)
	if st.Replaced != uint64(replaced) || st.Copies < 75 || st.Copies > 82 {
		t.Errorf("after two seconds of a hundred frames in ten they are copied out: %+v", st)
	}
	rg.until("only what is under way and what waits hold a slot", func() bool { return rg.ring.Usage().Leased <= 2 })
	under.done(true)
	rg.until("a slot comes back", func() bool { return rg.ring.Usage().Leased <= 1 })
}

// With all messages on their way frames wait in the ring, and the newest goes
// when there is room.
func TestNothingComesBack(t *testing.T) {
	for _, tight := range []bool{false, true} {
		t.Run(fmt.Sprint("tight ", tight), func(t *testing.T) {
			rg := newRig(t, nil)
			rg.tight = tight
			g := geometry(t, frame.RGB8, 64, 48, 0)
			rg.open(g)
			image := rg.topic(testTopic)
			image.slow.Store(true)
			var out []sample
			picture := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, g.Size()) }
			for i := range inFlight {
				rg.publish(picture(i))
				out = append(out, rg.next(image))
			}
			last := int64(0)
			for i := range 20 {
				last = rg.publish(picture(100 + i))
			}
			held := inFlight + 1 // and the retained one
			if tight {
				held = 1
			}
			rg.until("the others are free", func() bool { u := rg.ring.Usage(); return u.Free == u.Slots-held })
			out[0].done(true)
			var m msg.Image
			if err := m.DecodeCDR(rg.next(image).value); err != nil || m.Header.Stamp.Nanos() != last {
				t.Errorf("%d came, want the newest, %d: %v", m.Header.Stamp.Nanos(), last, err)
			}
			// Pixels that go out of the ring stay there until the end.
			for i, s := range out[1:] {
				if !bytes.Equal(s.payload, picture(1+i)) {
					t.Error("pixels changed while they were sent")
				}
				s.done(true)
			}
		})
	}
}

func TestNoAllocations(t *testing.T) {
	for _, c := range []struct {
		e     frame.Encoding
		topic string
	}{{frame.RGB8, testTopic}, {frame.YUV422YUY2, testTopic}, {frame.RGB8, "/front/color/camera_info"}} {
		rg := newRig(t, nil)
		g := geometry(t, c.e, 64, 48, 0)
		rg.open(g)
		p := rg.topic(c.topic)
		p.silent.Store(true)
		data := noise(g)
		sent := uint64(0)
		one := func() {
			rg.publish(data)
			sent++
			for late := time.Now().Add(20 * time.Second); rg.Frames() < sent; runtime.Gosched() {
				if time.Now().After(late) {
					t.Fatalf("of %d frames %d went out", sent, rg.Frames())
				}
			}
		}
		one()
		// One is the Meta of the test's own publish.
		if n := testing.AllocsPerRun(200, one); n > 1 {
			t.Errorf("%s of %s: %v allocations a frame", c.topic, c.e, n)
		}
	}
}
