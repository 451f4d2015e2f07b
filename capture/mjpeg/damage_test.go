// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package mjpeg

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/jpeg"
)

// However many frames are damaged, there are few lines, and all are counted.
func TestDamageIsSaidSeldom(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	var d Damage
	if d.String() != "" || d.Frames() != 0 {
		t.Errorf("%q", d.String())
	}
	d.Flush(log)
	now := time.Unix(1000, 0)
	for i := range 90 { // one a second
		err := fmt.Errorf("frame %d: %w", i, jpeg.ErrTruncated)
		if i%3 == 1 {
			err = fmt.Errorf("frame %d: %w", i, jpeg.ErrCorrupt)
		}
		d.Add(err)
		d.Log(log, now)
		now = now.Add(time.Second)
	}
	d.Add(errors.New("strange"))
	d.Flush(log)
	d.Flush(log)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{`frames=1 reason="1 truncated"`, `frames=61 reason="20 corrupt, 41 truncated"`, `frames=91 reason="30 corrupt, 60 truncated, 1 unreadable"`}
	if len(lines) != len(want) {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	for i, w := range want {
		if !strings.Contains(lines[i], w) || !strings.Contains(lines[i], `first="frame 0: truncated JPEG"`) {
			t.Errorf("line %d is %s, want %s", i, lines[i], w)
		}
	}
	if d.First() != "frame 0: truncated JPEG" || d.Frames() != 91 {
		t.Errorf("%q, %d", d.First(), d.Frames())
	}
}
