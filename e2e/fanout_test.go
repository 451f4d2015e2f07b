// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// hzResult is what scripts read from camsub hz --format json.
type hzResult struct {
	Frames     uint64 `json:"frames"`
	Missed     uint64 `json:"missed"`
	Reconnects uint64 `json:"reconnects"`
	Verify     *struct {
		Frames uint64 `json:"frames"`
		Torn   uint64 `json:"torn"`
		Stale  uint64 `json:"stale"`
	} `json:"verify"`
}

// hzOf parses the summary of a camsub hz --verify that has ended.
func hzOf(t testing.TB, p *process) hzResult {
	t.Helper()
	var r hzResult
	if err := json.Unmarshal([]byte(p.out.String()), &r); err != nil {
		t.Fatalf("camsub hz --format json: %v in %q", err, p.out.String())
	}
	if r.Verify == nil {
		t.Fatalf("camsub hz --verify: no verify in %q", p.out.String())
	}
	return r
}

// clean checks that a reader met no damaged frame and kept up. More frames are
// verified than measured: the one that lay there when it came is no measurement.
//
// Kept up: under load a
// reader may be scheduled late, but one that lost a wake-up, or waited for
// another reader, would take less than half of what was published.
func (r hzResult) clean(t testing.TB, name string) {
	t.Helper()
	if r.Verify.Torn != 0 || r.Verify.Stale != 0 || r.Verify.Frames < r.Frames {
		t.Errorf("%s: %d torn, %d stale, %d of %d frames verified", name, r.Verify.Torn, r.Verify.Stale, r.Verify.Frames, r.Frames)
	}
	if r.Reconnects != 0 {
		t.Errorf("%s: %d reconnects", name, r.Reconnects)
	}
	if r.Missed > r.Frames || (strict && r.Missed > 0) {
		t.Errorf("%s: missed %d frames, took %d", name, r.Missed, r.Frames)
	}
}

// TestEightSubscribers is the main promise: eight readers on one stream, and
// whatever four of them do, the other four do not notice.
func TestEightSubscribers(t *testing.T) { eightSubscribers(t, 180) }

// TestSoakEightSubscribers has one reader stopped for half a minute.
func TestSoakEightSubscribers(t *testing.T) {
	needSoak(t)
	eightSubscribers(t, 1800)
}

func needSoak(t *testing.T) {
	t.Helper()
	if !*soak {
		t.Skip("long run: needs -soak")
	}
}

func eightSubscribers(t *testing.T, stopped uint64) {
	d := startDaemon(t, "test=pattern,1280x720@60,encoding=bgra8")
	verified := func(wake string, more ...string) *process {
		return d.camsub(append([]string{"hz", "test/color", "--verify", "--format", "json", "--wake", wake}, more...)...)
	}
	var good, others []*process
	for i := range 8 {
		p := verified([]string{"futex", "futex", "pipe"}[i%3])
		if i < 4 {
			good = append(good, p)
		} else {
			others = append(others, p)
		}
	}
	for _, p := range append(good, others...) {
		d.subscriber(p, 60)
	}
	before, ok := usage(d.pid())
	if !ok {
		t.Fatal("camd is gone")
	}

	t.Run("ninth is told that the ring is full", func(t *testing.T) {
		expect(t, []with{withEnv("CAMD_RUNTIME_DIR=" + d.dir)}, 5, []string{"ring_full", "8 of 8 subscribers"},
			built.camsub, "hz", "test/color", "--count", "1")
	})

	undisturbed(t, d, append(good, others...))
	for _, p := range others {
		p.interrupt()
		hzOf(t, p).clean(t, "subscriber of eight")
	}

	stoppedOne := verified("futex")
	hoarder := d.camsub("hz", "test/color", "--hold", "forever")
	slow := verified("futex", "--hold", "1s")
	victim := d.camsub("hz", "test/color", "--hold", "forever", "--wake", "pipe")
	hoarder.awaitErr("holding 2 frames")
	victim.awaitErr("holding 2 frames")
	d.subscriber(slow, 10)
	d.subscriber(stoppedOne, 10)
	stoppedOne.stop()
	d.advance(stopped / 2)
	victim.kill()
	d.subscribed(7)
	d.advance(stopped / 2)

	t.Run("hoarder is named", func(t *testing.T) {
		b, _ := d.stream().subscriber(hoarder.pid())
		if !b.Hoarding || b.Held != 2 || b.Released != 0 {
			t.Errorf("hoarder in JSON: %+v", b)
		}
		want := fmt.Sprintf("camsub[%d]", hoarder.pid())
		line := lineWith(d.statusText(), want)
		if !strings.Contains(line, "HOLDS 2 frames for") {
			t.Errorf("hoarder in text: %q", line)
		}
		if !strings.Contains(d.err.String(), "subscriber holds a frame for long") {
			t.Error("hoarder not named in the log")
		}
	})

	from, _ := d.stream().subscriber(stoppedOne.pid())
	stoppedOne.signal(syscall.SIGCONT)
	eventually(t, "stopped reader goes on", func() (bool, string) {
		b, _ := d.stream().subscriber(stoppedOne.pid())
		return b.Released >= from.Released+20, fmt.Sprint(b.Released - from.Released)
	})

	undisturbed(t, d, good)
	s := d.stream()
	if s.Ring.Ended != 0 || s.Dropped["no_slot"] != 0 {
		t.Errorf("%d readers evicted, %d frames without a slot, want none: the ring is made for eight", s.Ring.Ended, s.Dropped["no_slot"])
	}
	if after, ok := usage(d.pid()); !ok || after.anonymous > before.anonymous+anonymousSlack {
		t.Errorf("camd's memory grew: %v, now %v", before, after)
	}
	for _, p := range good {
		p.interrupt()
		hzOf(t, p).clean(t, "good subscriber")
	}
	for _, p := range []*process{stoppedOne, slow} {
		p.interrupt()
		if r := hzOf(t, p); r.Verify.Torn != 0 || r.Verify.Stale != 0 {
			t.Errorf("stopped or slow subscriber: %d torn, %d stale", r.Verify.Torn, r.Verify.Stale)
		}
	}
	hoarder.interrupt()
	d.subscribed(0)
	if s := d.stream(); s.Ring.Leased != 0 || s.Ring.Free < s.Ring.Slots-2 {
		t.Errorf("without subscribers %d slots are leased, %d of %d free", s.Ring.Leased, s.Ring.Free, s.Ring.Slots)
	}
}

// undisturbed checks what is true of readers that hold one frame at a time,
// however late they are scheduled: nothing was kept from them, and every frame
// of a second was granted to each.
func undisturbed(t *testing.T, d *daemon, readers []*process) {
	t.Helper()
	first := d.stream()
	middle := d.advance(60)
	last := d.stream()
	for _, p := range readers {
		was, _ := first.subscriber(p.pid())
		b, ok := last.subscriber(p.pid())
		// In a document the subscribers are older than the stream's count.
		if b.Granted-was.Granted < middle.Published-first.Published {
			t.Errorf("subscriber %d: granted %d of %d frames", p.pid(), b.Granted-was.Granted, middle.Published-first.Published)
		}
		if !ok || b.Skipped != 0 || b.Evicted != "" {
			t.Errorf("subscriber %d: listed %v, skipped %d, evicted %q", p.pid(), ok, b.Skipped, b.Evicted)
		}
		b.balanced(t)
		if b.Overwritten > b.Granted/2 || (strict && b.Overwritten > 0) {
			t.Errorf("subscriber %d: %d of %d frames came before it had taken the one before", p.pid(), b.Overwritten, b.Granted)
		}
	}
}

func lineWith(s, want string) string {
	for _, line := range strings.Split(s, "\n") {
		if strings.Contains(line, want) {
			return line
		}
	}
	return ""
}
