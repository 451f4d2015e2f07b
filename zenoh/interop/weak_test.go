// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// On a link that cannot carry all frames whole ones arrive, as new as it
// allows, and a small urgent topic is not behind them.
func TestWeakLink(t *testing.T) {
	for _, c := range []struct {
		rate             string
		bitsPerSecond    float64
		frame, framesPer int // bytes, frames a second
		seconds          int
	}{
		{"2mbit", 2e6, 230_000, 10, 6},
		{"100mbit", 100e6, 2_764_800, 15, 2}, // 720p BGR
	} {
		t.Run(c.rate, func(t *testing.T) {
			l := namespace(t, c.rate)
			e := "tcp/" + l.host + ":7447"
			n := startIn(t, l.by, versions[0], listening("router", e))
			s := open(t, config.Client(e))
			n.do(command{"op": "sub", "name": "s", "key": "weak/**"}, "declared")
			frames, err := s.Publisher("weak/frames", nil)
			if err != nil {
				t.Fatal(err)
			}
			small, err := s.Publisher("weak/small", &zenoh.PublisherOptions{QoS: zenoh.QoS{Priority: zenoh.PriorityRealTime, Express: true}})
			if err != nil {
				t.Fatal(err)
			}
			round(t, s)

			payload := noise(c.frame)
			whole := sum(payload)
			total := c.framesPer * c.seconds
			sentAt := make([]time.Time, total)
			var mu sync.Mutex
			var ages []time.Duration
			smalls, last, torn := 0, -1, 0
			received := make(chan struct{})
			go func() {
				defer close(received)
				for last < total-1 {
					e := n.next()
					if e.Key == "weak/small" {
						smalls++
						continue
					}
					i, err := strconv.Atoi(e.Attachment)
					if err != nil || i <= last || e.SHA256 != whole {
						torn++
						continue
					}
					last = i
					mu.Lock()
					ages = append(ages, time.Since(sentAt[i]))
					mu.Unlock()
				}
			}()
			tick := time.NewTicker(time.Second / time.Duration(c.framesPer))
			defer tick.Stop()
			dropped := 0
			for i := range total {
				<-tick.C
				mu.Lock()
				sentAt[i] = time.Now()
				mu.Unlock()
				if err := frames.Put(ctx(t), payload, &zenoh.PutOptions{Attachment: strconv.AppendInt(nil, int64(i), 10)}); errors.Is(err, zenoh.ErrDropped) {
					dropped++
				} else if err != nil {
					t.Fatal(err)
				}
				if i%c.framesPer == c.framesPer/2 {
					if err := small.Put(ctx(t), []byte("tick"), nil); err != nil {
						t.Error(err)
					}
				}
			}
			<-received
			if len(ages) == 0 {
				t.Fatalf("no frame of %d arrived whole", total)
			}
			slices.Sort(ages)
			transfer := time.Duration(float64(c.frame) * 8 / c.bitsPerSecond * float64(time.Second))
			carries := int(float64(c.seconds) / transfer.Seconds())
			st := s.Info().Stats
			t.Logf("%d of %d frames (the link carries %d), %d gave way; age p50 %v, max %v, transfer %v; %d of %d small ones",
				len(ages), total, carries, st.Conflated, ages[len(ages)/2], ages[len(ages)-1], transfer, smalls, c.seconds)
			if torn != 0 {
				t.Errorf("%d frames torn or out of order", torn)
			}
			// A small sample that a newer one replaced is counted too.
			if n := len(ages) + int(st.Conflated) + dropped; n < total || n > total+c.seconds {
				t.Errorf("%d frames arrived, %d gave way and %d were dropped of %d", len(ages), st.Conflated, dropped, total)
			}
			if smalls == 0 {
				t.Error("no small sample arrived beside the frames")
			}
			if os.Getenv("CAMD_SOAK") == "" {
				return // the rest is about time, which a busy machine does not keep
			}
			if len(ages) < min(carries, total)*7/10 {
				t.Errorf("%d frames arrived, the link carries %d", len(ages), carries)
			}
			if smalls != c.seconds {
				t.Errorf("%d small samples arrived, want %d", smalls, c.seconds)
			}
			// Two transfer times is the rule; more only while TCP finds its pace
			// on a queue as short as this link's.
			if mid, worst := ages[len(ages)/2], ages[len(ages)-1]; mid > 2*transfer || worst > 3*transfer {
				t.Errorf("frames were %v old in the middle and %v at worst, two transfer times are %v", mid, worst, 2*transfer)
			}
		})
	}
}
