// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/negotiate"
)

func TestConversation(t *testing.T) {
	const unknown negotiate.Type = "later"
	begin := time.Unix(1000, 0)
	cases := map[string]struct {
		say     negotiate.Type
		times   int
		every   time.Duration
		answers int
		due     time.Duration // after begin
	}{
		"nothing":                 {negotiate.TypeList, 0, 0, 0, helloTimeout},
		"one request":             {negotiate.TypeList, 1, time.Second, 1, time.Second + helloTimeout},
		"unknown ones":            {unknown, 1000, time.Millisecond, 0, helloTimeout},
		"as many as may be":       {negotiate.TypeStatus, maxRequests, time.Millisecond, maxRequests, maxRequests*time.Millisecond + helloTimeout},
		"one too many":            {negotiate.TypeStatus, maxRequests + 1, time.Millisecond, maxRequests, maxRequests*time.Millisecond + helloTimeout},
		"as many as may be, long": {negotiate.TypeStatus, 10 * maxRequests, 20 * time.Millisecond, 10 * maxRequests, 10*time.Second + helloTimeout},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			talk, now, answers := newConversation(begin), begin, 0
			for i := range c.times {
				now = now.Add(c.every)
				answer, r := talk.heard(c.say, now)
				if refused := i >= maxRequests && c.answers == maxRequests; refused != (r != nil) || r != nil && r.Reason != negotiate.ReasonLimit {
					t.Fatalf("message %d: refusal %+v", i+1, r)
				}
				if answer {
					answers++
					talk.answered(now)
				}
			}
			if due := talk.due.Sub(begin); answers != c.answers || due != c.due {
				t.Errorf("%d answers, next due after %v; want %d and %v", answers, due, c.answers, c.due)
			}
		})
	}
}

// A client that asks on and on is refused with its last answer.
func TestFloodOfRequests(t *testing.T) {
	dir := runtimeDir(t)
	boot(t, dir, "a=pattern,64x64@10")
	c := dial(t, dir)
	answers := 0
	for {
		err := c.Send(&negotiate.Message{Type: negotiate.TypeList, List: &negotiate.List{}})
		if err != nil && !errors.Is(err, negotiate.ErrPeerGone) {
			t.Fatal(err)
		}
		m, _, err := c.Receive(time.Now().Add(deadline))
		if err != nil {
			t.Fatalf("after %d answers: %v", answers, err)
		}
		if m.Type == negotiate.TypeReject {
			if m.Reject.Reason != negotiate.ReasonLimit || answers < maxRequests {
				t.Errorf("refused after %d answers: %s: %s", answers, m.Reject.Reason, m.Reject.Text)
			}
			return
		}
		answers++
	}
}

func TestUnknownTypesAreCutOff(t *testing.T) {
	dir := runtimeDir(t)
	boot(t, dir, "a=pattern,64x64@10")
	c := dial(t, dir)
	for range negotiate.MaxUnknown + 1 {
		send(t, c, &negotiate.Message{Type: "later"})
	}
	if r := receive(t, c, negotiate.TypeReject).Reject; r.Reason != negotiate.ReasonProtocol || !strings.Contains(r.Text, "unknown types") {
		t.Errorf("refused with %s: %s", r.Reason, r.Text)
	}
	if _, _, err := c.Receive(time.Now().Add(deadline)); !errors.Is(err, negotiate.ErrPeerGone) {
		t.Errorf("the connection is still there: %v", err)
	}
}

func TestConnectionLimits(t *testing.T) {
	with := func(subscribers int) *camera { return &camera{limits: limits{subscribers: subscribers}} }
	cases := map[string]struct {
		cameras      []*camera
		spare        int64 // open files that no camera needs
		all, perUser int
	}{
		"nothing to spare":        {[]*camera{with(8)}, 0, 16, 16},
		"less than there must be": {[]*camera{with(8)}, -50, 16, 16},
		"one descriptor":          {[]*camera{with(8)}, 1, 16, 16},
		"a few":                   {[]*camera{with(8), with(1)}, 20, 27, 27},
		"many":                    {[]*camera{with(8)}, 300, 166, maxPerUser},
		"any number":              {[]*camera{with(8)}, 1 << 40, maxConnections, maxPerUser},
		"no camera":               {nil, 0, freeConnections, freeConnections},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			need, _ := filesOf(c.cameras)
			all, perUser := connectionLimits(c.cameras, need+c.spare)
			if all != c.all || perUser != c.perUser {
				t.Errorf("%d connections, %d of a user; want %d and %d", all, perUser, c.all, c.perUser)
			}
		})
	}
}

// Connections are bounded by the open files that the cameras leave.
func TestConnectionsLeaveRoomForCameras(t *testing.T) {
	dir := runtimeDir(t)
	d := &Daemon{Dir: dir, Log: slog.New(slog.DiscardHandler), Cameras: []capture.Spec{spec(t, "a=pattern,64x64@10,max_subscribers=2")}}
	d.files = filesBase + filesCamera + 2*filesSubscriber
	const most = 2 + freeConnections
	run(t, d)
	for range most {
		c := dial(t, dir)
		send(t, c, &negotiate.Message{Type: negotiate.TypeList, List: &negotiate.List{}})
		receive(t, c, negotiate.TypeStreams)
	}
	if r := receive(t, dial(t, dir), negotiate.TypeReject).Reject; r.Reason != negotiate.ReasonLimit || !strings.Contains(r.Text, "at most 10 and 10") {
		t.Errorf("refused with %s: %s", r.Reason, r.Text)
	}
	d.server.mu.Lock()
	defer d.server.mu.Unlock()
	if d.server.total > most {
		t.Errorf("%d connections are open, at most %d may be", d.server.total, most)
	}
}
