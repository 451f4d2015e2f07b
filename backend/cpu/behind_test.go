// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/ros2/msg"
	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// peer is a session of its own that knows of the others only whom it dials.
func peer(t *testing.T, dial ...string) *zenoh.Session {
	t.Helper()
	c := config.Peer(dial...)
	c.Listen, c.Scout.Multicast = []string{"tcp/127.0.0.1:0"}, false
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := zenoh.Open(ctx, c, &zenoh.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(s) })
	return s
}

func shut(s *zenoh.Session) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = s.Close(ctx) // others that take nothing keep it from ending well
}

// However many subscribers take nothing, each in the middle of another frame,
// another one gets every frame; no slot is kept from the source, and what they
// have costs a copy each, and not one for each frame.
func TestStoppedSubscribers(t *testing.T) {
	for _, k := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprint(k, " stopped"), func(t *testing.T) {
			t.Parallel()
			from := peer(t)
			rg := newRigIn(t, Zenoh(from), nil)
			g := geometry(t, frame.RGB8, 1600, 1200, 0)
			rg.open(g)
			at := from.Info().Listening[0]
			key := "0" + testTopic + "/**"
			fast := peer(t, at)
			got := make(chan int64, 64)
			_, err := fast.Subscribe(key, &zenoh.SubscriberOptions{Handler: zenoh.Handler[zenoh.Sample]{Callback: func(s zenoh.Sample) {
				var m msg.Image
				if m.DecodeCDR(s.Payload) == nil && bytes.Count(m.Data, m.Data[:1]) == len(m.Data) {
					got <- m.Header.Stamp.Nanos()
				}
				s.Release()
			}}})
			if err != nil {
				t.Fatal(err)
			}
			rg.until("somebody subscribes", func() bool { return len(rg.Topics()) > 0 && rg.status(testTopic).Matched })
			data := make([]byte, g.Size())
			frames := 0
			show := func() {
				copy(data, bytes.Repeat([]byte{byte(frames)}, len(data)))
				frames++
				want := rg.publish(data)
				select {
				case at := <-got:
					if at != want {
						t.Fatalf("frame %d: %d came instead of %d", frames, at, want)
					}
				case <-time.After(10 * time.Second):
					t.Fatalf("frame %d never came; %+v, %d leases", frames, rg.status(testTopic), rg.ring.Usage().Leased)
				}
			}
			stopped := make([]*zenoh.Session, k)
			for i := range stopped {
				s := peer(t, at)
				stopped[i] = s
				sub, err := s.Subscribe(key, &zenoh.SubscriberOptions{Handler: zenoh.Handler[zenoh.Sample]{FIFO: 1}})
				if err != nil {
					t.Fatal(err)
				}
				// What it gets first says that it is known; it takes no more.
				rg.until("it has a frame", func() bool {
					show()
					ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
					defer cancel()
					smp, err := sub.Receive(ctx)
					smp.Release()
					return err == nil
				})
				for range 4 { // one in its queue, one that waits for room there, what the kernel takes
					show()
				}
			}
			for range 20 {
				show()
			}
			st := rg.status(testTopic)
			t.Logf("%d frames, %d copied out, %d leases", frames, st.Copies, rg.ring.Usage().Leased)
			if s := rg.ring.Stats(); s.NoSlot > 0 {
				t.Errorf("no slot %d times", s.NoSlot)
			}
			// A link may take the rest of its frame after that was copied out, where the
			// kernel gives it more room, and then stands in the middle of another one.
			if k == 1 && st.Copies > 0 || st.Copies > 2*uint64(k) || k > 2 && st.Copies == 0 {
				t.Errorf("%d copies for %d links that stand still", st.Copies, k)
			}
			for _, s := range stopped {
				shut(s)
			}
			rg.until("all is back", func() bool { return rg.ring.Usage().Leased <= 1 && len(rg.image.topic.parcels) == inFlight })
			before := rg.status(testTopic).Copies
			for range 5 {
				show()
			}
			if st := rg.status(testTopic); st.Copies > before {
				t.Errorf("%d copies for a link that keeps up", st.Copies-before)
			}
			rg.Close()
			shut(fast)
		})
	}
}
