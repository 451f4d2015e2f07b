// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/client"
)

func TestEvents(t *testing.T) {
	lost := fmt.Errorf("%w in /run/camd", client.ErrNoDaemon)
	for name, tc := range map[string]struct {
		path   string // said before
		events []client.Event
		want   string
	}{
		"the first connection is said elsewhere": {"", []client.Event{{Kind: client.EventConnected, Text: "test/color by shm"}}, ""},
		"a later one is said": {
			"x",
			[]client.Event{
				{Kind: client.EventDisconnected, Text: "connection to camd in /run/camd lost", Err: lost},
				{Kind: client.EventConnected, Text: "test/color by shm (futex), 64x48 bgra8"},
			},
			"camsub: test/color: connection to camd in /run/camd lost: no camd found in /run/camd\n" +
				"camsub: test/color by shm (futex), 64x48 bgra8\n",
		},
		"the cause is not said twice": {
			"x",
			[]client.Event{{Kind: client.EventEvicted, Text: "evicted by the daemon: held_too_long", Err: client.ErrEvicted}},
			"camsub: test/color: evicted by the daemon: held_too_long\n",
		},
		"the stream is not named twice": {
			"x",
			[]client.Event{{Kind: client.EventWaiting, Text: "waiting for test/color: no camd"}},
			"camsub: waiting for test/color: no camd\n",
		},
		"why a path is another one is said once": {
			"x",
			[]client.Event{
				{Kind: client.EventDisconnected, Text: "connection to camd in /run/camd lost"},
				{Kind: client.EventConnected, Text: "test/color by cpu (Zenoh)"},
				{Kind: client.EventPathChanged, Text: "test/color comes by cpu, not by shm any more: connection to camd in /run/camd lost"},
				{Kind: client.EventConnected, Text: "test/color by shm (futex)"},
				{Kind: client.EventPathChanged, Text: "test/color comes by shm, not by cpu any more: camd in /run/camd can be reached now"},
			},
			"camsub: test/color: connection to camd in /run/camd lost\ncamsub: test/color by cpu (Zenoh)\ncamsub: test/color by shm (futex)\n" +
				"camsub: test/color comes by shm, not by cpu any more: camd in /run/camd can be reached now\n",
		},
		"without text": {"x", []client.Event{{Kind: client.EventReconfigured}}, "camsub: test/color: reconfigured\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			n := &notes{out: &out, program: "camsub", path: tc.path}
			for _, e := range tc.events {
				n.event("test/color", e)
			}
			if out.String() != tc.want {
				t.Errorf("got %q, want %q", out.String(), tc.want)
			}
		})
	}
}

// A publisher whose pictures change their size with every frame fills no
// terminal.
func TestEventsAreBounded(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	n := &notes{out: &out, program: "camsub", path: "x", now: func() time.Time { return now }}
	change := func() { n.event("/t", client.Event{Kind: client.EventReconfigured, Text: "/t is now 6x4"}) }
	for range 5000 {
		change()
	}
	if lines := strings.Count(out.String(), "\n"); lines != eventsAtOnce {
		t.Errorf("%d lines, want %d", lines, eventsAtOnce)
	}
	out.Reset()
	now = now.Add(4 * time.Second)
	change()
	if got, want := out.String(), "camsub: 4980 changes not said: they came too fast\ncamsub: /t is now 6x4\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for range 3 {
		change()
	}
	out.Reset()
	n.ignored("/t", client.Stats{})
	if got, want := out.String(), "camsub: 2 changes not said: they came too fast\n"; got != want {
		t.Errorf("at the end %q, want %q", got, want)
	}
}

func TestWaitingIsSaidOnce(t *testing.T) {
	var out bytes.Buffer
	s := newFake(t)
	s.path = client.Path{}
	n := &notes{out: &out, program: "camsub"}
	n.event("test/color", client.Event{Kind: client.EventWaiting, Text: "test/color: camera test is lost"})
	n.subscribed("test/color", s)
	if want := "camsub: test/color: camera test is lost\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
