// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

func TestParseHistory(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	all := history{last: math.MaxInt, high: math.MaxUint32}
	with := func(change func(*history)) history {
		h := all
		change(&h)
		return h
	}
	for params, want := range map[string]history{
		"":                      all,
		"_anyke":                all,
		"_anyke;_max=2":         with(func(h *history) { h.last = 2 }),
		"_sn=3..9":              with(func(h *history) { h.low, h.high = 3, 9 }),
		"_sn=3..":               with(func(h *history) { h.low = 3 }),
		"_sn=..9":               with(func(h *history) { h.high = 9 }),
		"_sn=4":                 with(func(h *history) { h.low, h.high = 4, 4 }),
		"_time=[now(-2s)..]":    with(func(h *history) { h.since = wire.NTP64(now.Add(-2 * time.Second)) }),
		"_time=[now()..]":       with(func(h *history) { h.since = wire.NTP64(now) }),
		"_max=x;_sn=y;_time=z":  all,
		"_max=-1;_time=[now(..": all,
	} {
		if got := parseHistory(params, now); got != want {
			t.Errorf("%q: %+v, want %+v", params, got, want)
		}
	}
}

// TestHeartbeatPace puts in a session that is alone, under a clock of the
// test's.
func TestHeartbeatPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config.Peer()
		c.Listen, c.Scout.Multicast = nil, false
		s := opened(t, c)
		var beats []string
		begin := time.Now()
		_, err := s.Subscribe("a/@adv/pub/**", &SubscriberOptions{Handler: Handler[Sample]{Callback: func(x Sample) {
			beats = append(beats, fmt.Sprint(time.Since(begin), x.Payload))
		}}})
		if err != nil {
			t.Fatal(err)
		}
		put := func(qos QoS, puts int) *Publisher {
			p, err := s.Publisher("a", &PublisherOptions{Cache: 2, QoS: qos})
			if err != nil {
				t.Fatal(err)
			}
			for range puts {
				if err := p.Put(t.Context(), []byte("x"), nil); err != nil {
					t.Fatal(err)
				}
				<-time.After(90 * time.Millisecond)
			}
			return p
		}
		p := put(QoS{}, 8)
		<-time.After(time.Minute)
		// Nothing is told after the end, or of what has no numbers.
		_ = put(QoS{}, 1).Close()
		_ = put(QoS{Reliability: BestEffort}, 1).Close()
		<-time.After(time.Minute)
		synctest.Wait()
		if want := []string{"500ms [5 0 0 0]", "1.04s [7 0 0 0]"}; !slices.Equal(beats, want) {
			t.Errorf("beats %q, want %q", beats, want)
		}
		_ = p.Close()
		_ = s.Close(t.Context())
	})
}
