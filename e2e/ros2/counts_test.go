// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ros2

import (
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/backend/cpu"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/ring"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

// TestSendAllocatesAndCopiesNothing publishes out of a ring through a real
// session and router: a frame costs no allocation and no copy of its pixels.
func TestSendAllocatesAndCopiesNothing(t *testing.T) {
	p := startPeer(t)
	s := p.open()
	for _, size := range [][2]int{{16, 16}, {640, 480}, {1920, 1080}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			g, err := frame.NewGeometry(frame.RGB8, size[0], size[1])
			if err != nil {
				t.Fatal(err)
			}
			link := &cpu.Link{}
			link.Open(cpu.Zenoh(s))
			name := fmt.Sprintf("/counts/p%d/image_raw", size[0])
			b := cpu.New(cpu.Options{Camera: "counts", Topic: name, QoS: graph.SensorData(), Log: slog.New(slog.DiscardHandler)}, link)
			defer b.Close()
			var generation atomic.Uint64
			r, err := ring.New(ring.Config{
				Name: "counts", Epoch: 1, Geometry: g, Slots: ring.SlotsFor(1, 1, 1) + cpu.Credit, MaxReaders: 1, Generation: &generation,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Retire()
			b.SetRing(r, frame.Color{}, false)
			p.do(command{"op": "sink", "name": name, "key": graph.TopicKey(0, name, msg.TypeImage.Name, msg.TypeImage.Hash)}, "declared")
			for end := ctx(t); !b.Wanted(); runtime.Gosched() {
				if end.Err() != nil {
					t.Fatal("nobody subscribes")
				}
			}
			m := &frame.Meta{Bytes: g.Size()}
			one := func() {
				slot, err := r.Acquire()
				if err != nil {
					t.Fatal(err)
				}
				m.Sequence++
				r.Publish(slot, m)
				for late := time.Now().Add(patience); b.Frames() < m.Sequence; runtime.Gosched() {
					if time.Now().After(late) {
						t.Fatalf("of %d frames %d went out", m.Sequence, b.Frames())
					}
				}
			}
			one()
			if n := testing.AllocsPerRun(200, one); n > 0 {
				t.Errorf("%v allocations a frame", n)
			}
			x := b.Topics()[0]
			if x.Copies+x.Conversions+x.Replaced > 0 || x.Frames < 200 || x.Bytes/x.Frames < uint64(g.Size()) {
				t.Errorf("%+v", x)
			}
		})
	}
}
