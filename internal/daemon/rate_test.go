// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"math"
	"testing"
	"time"
)

func TestRate(t *testing.T) {
	const hz60 = time.Second / 60
	type run struct {
		frames int
		every  time.Duration // the first one so long after the frame before
	}
	cases := map[string]struct {
		runs []run
		then time.Duration // after the last frame
		want float64
	}{
		"no frame":                  {nil, 0, 0},
		"one frame":                 {[]run{{1, hz60}}, 0, 0},
		"two frames":                {[]run{{2, hz60}}, 0, 60},
		"many":                      {[]run{{1000, hz60}}, 0, 60},
		"slow":                      {[]run{{5, 5 * time.Second}}, 49 * time.Second, 0.2},
		"slow, stopped":             {[]run{{5, 5 * time.Second}}, 51 * time.Second, 0},
		"not stopped yet":           {[]run{{1000, hz60}}, 2 * time.Second, 60},
		"stopped":                   {[]run{{1000, hz60}}, 2*time.Second + 1, 0},
		"right after a stop":        {[]run{{1000, hz60}, {1, time.Minute}}, 0, 0},
		"the frame after":           {[]run{{1000, hz60}, {1, time.Minute}, {1, hz60}}, 0, 60},
		"a second after a stop":     {[]run{{1000, hz60}, {1, time.Minute}, {60, hz60}}, 0, 60},
		"slower for good":           {[]run{{1000, hz60}, {3, 5 * time.Second}}, 0, 0.2},
		"a frame late by a moment":  {[]run{{1000, hz60}, {1, 100 * time.Millisecond}, {300, hz60}}, 0, 60},
		"another rate, after a bit": {[]run{{1000, hz60}, {150, time.Second / 30}}, 0, 30},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var r rate
			now := int64(time.Hour)
			for _, x := range c.runs {
				for range x.frames {
					now += int64(x.every)
					r.add(now)
				}
			}
			if got := r.perSecond(now + int64(c.then)); math.Abs(got-c.want) > 0.01*c.want {
				t.Errorf("%.3f Hz, want %.3f", got, c.want)
			}
		})
	}
}
