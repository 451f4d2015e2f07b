// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package mjpeg

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-3c7e7623/camd/jpeg"
)

// quiet is how long damaged frames are only counted after a line about them.
const quiet = time.Minute

// Damage counts damaged frames by reason. The zero value is ready.
type Damage struct {
	counts map[string]int
	first  string // in words

	logged time.Time
	since  int // frames after the last line
}

// Add counts a frame.
func (d *Damage) Add(err error) {
	reason := jpeg.Reason(err)
	if reason == "" {
		reason = "unreadable"
	}
	if d.counts == nil {
		d.counts = make(map[string]int)
		d.first = err.Error()
	}
	d.counts[reason]++
	d.since++
}

// Frames is how many there were.
func (d *Damage) Frames() (n int) {
	for _, c := range d.counts {
		n += c
	}
	return n
}

// String is "1 corrupt, 2 truncated", "" for none.
func (d *Damage) String() string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(d.counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", d.counts[reason], reason))
	}
	return strings.Join(parts, ", ")
}

// First is what was said of the first one.
func (d *Damage) First() string { return d.first }

// Log says at once that there is damage, and how much has come together since
// once a minute. It is called after each Add.
func (d *Damage) Log(log *slog.Logger, now time.Time) {
	if !d.logged.IsZero() && now.Sub(d.logged) < quiet {
		return
	}
	d.Flush(log)
	d.logged = now
}

// Flush says what has not been said yet.
func (d *Damage) Flush(log *slog.Logger) {
	if d.since == 0 {
		return
	}
	d.since = 0
	log.Warn("damaged frames are left out", "frames", d.Frames(), "reason", d.String(), "first", d.first)
}
