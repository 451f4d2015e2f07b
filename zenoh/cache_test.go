// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"math"
	"testing"
	"time"

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
