// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh"
)

func TestLimiter(t *testing.T) {
	var l limiter
	now := time.Unix(1000, 0)
	for i := range 3 {
		if pause := l.wait(now, 3); pause != 0 {
			t.Errorf("turn %d waits for %v", i, pause)
		}
	}
	if pause := l.wait(now.Add(300*time.Millisecond), 3); pause != 700*time.Millisecond {
		t.Errorf("one too many waits for %v", pause)
	}
	for _, later := range []time.Duration{time.Second, -time.Hour} { // a clock may be set back
		if pause := l.wait(now.Add(later), 3); pause != 0 {
			t.Errorf("after %v: %v", later, pause)
		}
	}
}

func TestRules(t *testing.T) {
	type names map[string]bool
	for _, c := range []struct {
		rules   Rules
		streams names
		topics  names // of no stream
	}{
		{nil, names{"a/color": true}, names{"/x": true}},
		{Rules{}, names{"a/color": false}, names{"/x": false}},
		{Everything(), names{"a/color": true, "a/color/jpeg": true}, names{"/x": true, "/a/b": true}},
		{Rules{"a/*", "*/depth"}, names{"a/color": true, "b/depth": true, "a/color/jpeg": false, "b/color": false}, names{"/x": false, "/a/color": false}},
		{Rules{"a/**"}, names{"a/color/jpeg": true, "ab/color": false}, nil},
		{Rules{"cam$*/color"}, names{"cam1/color": true, "scam/color": false}, nil},
		{Rules{"/a/**"}, names{"a/color": false}, names{"/a/color/image_raw": true, "/b": false}},
		{Rules{"a/*"}, names{"no key#": false, "": false}, nil},
	} {
		for name, want := range c.streams {
			if c.rules.Stream(name) != want {
				t.Errorf("%v allows %s: %v", c.rules, name, !want)
			}
			if c.rules.Topic("/other", name) != want {
				t.Errorf("%v allows the topic of %s: %v", c.rules, name, !want)
			}
		}
		for name, want := range c.topics {
			if c.rules.Topic(name, "") != want {
				t.Errorf("%v allows %s: %v", c.rules, name, !want)
			}
		}
	}
	for _, bad := range []string{"", "/", "a//b", "a/", "a*", "#"} {
		if CheckRule(bad) == nil {
			t.Errorf("%q is a rule", bad)
		}
	}
}

// Whoever is on the network can say that there are subscribers: how many are
// remembered is bounded, and what cannot be read is counted.
func TestVisitorsAreBounded(t *testing.T) {
	var said strings.Builder
	v := visitors{access: Access{Accept: Rules{"front/*"}}, log: slog.New(slog.NewTextHandler(&said, nil)), seen: map[string]visitor{}}
	key := func(stream, id string) string {
		return negotiate.SubscriberKey{AnnouncedKey: negotiate.AnnouncedKey{BootID: "b", Stream: stream}, ID: id, Host: "h"}.String()
	}
	v.hear(zenoh.Sample{Key: key("back/color", "x")})
	v.hear(zenoh.Sample{Key: "camd/1/b/front/color/sub/x/%1b/y/-"})
	v.hear(zenoh.Sample{Key: key("front/color", "0")})
	first := v.of("front/color")
	v.hear(zenoh.Sample{Key: key("front/color", "0")}) // again
	if diff := cmp.Diff(first, v.of("front/color")); diff != "" || strings.Count(said.String(), "\n") != 1 {
		t.Errorf("told twice: %s\n%s", diff, said.String())
	}
	for i := range maxVisitors + 10 {
		v.hear(zenoh.Sample{Key: key("front/color", fmt.Sprint(i))})
	}
	if listed, unlisted := v.count(); listed != maxVisitors || unlisted != 11 {
		t.Errorf("%d listed, %d not", listed, unlisted)
	}
	for i := range maxVisitors {
		v.hear(zenoh.Sample{Key: key("front/color", fmt.Sprint(i)), Kind: zenoh.Delete})
	}
	if got := v.of("front/color"); len(got) != 0 {
		t.Errorf("%d left", len(got))
	}
	// The test may take more than a second, but not for each line.
	if n := strings.Count(said.String(), "\n"); n < maxLines || n > maxVisitors || !strings.Contains(said.String(), "msg=subscribed stream=front/color backend=cpu") {
		t.Errorf("%d lines:\n%s", n, said.String())
	}
}

// An announcement serves all who ask within a moment, and no longer than the
// stream stays as it is.
func TestAnnouncementIsKept(t *testing.T) {
	d, _ := boot(t, runtimeDir(t), "test=pattern,64x48@30")
	s := subscribe(t, d.Dir, "test/color")
	next(t, s).Release() // which may come before the daemon has booked who gets it
	subscribers := func(n int) {
		t.Helper()
		if err := eventually(func() bool { return d.Status().Streams[0].Subscribed == n }); err != nil {
			t.Fatalf("%v: %d subscribers", err, n)
		}
	}
	subscribers(1)
	a := newAnnouncer(d, Access{}, slog.New(slog.DiscardHandler))
	now := time.Unix(1000, 0)
	read := func(k docKey, at time.Time) *negotiate.Announcement {
		t.Helper()
		b := a.document(k, at)
		if b == nil {
			return nil
		}
		out, err := negotiate.DecodeAnnouncement(b)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	there, here := docKey{"test/color", false}, docKey{"test/color", true}
	first := read(there, now)
	if first == nil || len(first.Subscribers) != 1 || first.Subscribers[0].Backend != negotiate.BackendSHM || first.Stream.Subscribed != 1 || first.RuntimeDir != "" {
		t.Fatalf("%+v", first)
	}
	if got := read(here, now); got.RuntimeDir != d.server.listener.Dir() {
		t.Errorf("directory %q", got.RuntimeDir)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	subscribers(0)
	if diff := cmp.Diff(first, read(there, now.Add(freshFor-1))); diff != "" {
		t.Errorf("made anew: %s", diff)
	}
	if got := read(there, now.Add(freshFor)); len(got.Subscribers) != 0 {
		t.Errorf("kept for too long: %+v", got)
	}
	at := now.Add(time.Hour)
	before := a.document(there, at)
	a.stale("test/color")
	if after := a.document(there, at); &before[0] == &after[0] {
		t.Error("kept although the stream has changed")
	}
	if a.document(docKey{"test/none", false}, now) != nil {
		t.Error("a stream that is not there is announced")
	}
	for i := range 2 * maxDocs {
		a.document(docKey{fmt.Sprint(i), false}, now)
	}
	if len(a.docs) > maxDocs {
		t.Errorf("%d documents are kept", len(a.docs))
	}
}
