// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// notes are the lines on stderr that tell people what happens. They may come
// from several goroutines.
type notes struct {
	mu      sync.Mutex
	out     io.Writer
	program string
	path    string // the path that was said last
	waiting bool   // an event said that frames are waited for
	lost    string // why the path before ended, as an event said

	now     func() time.Time // nil: time.Now
	said    float64          // events, of which some are forgotten with time
	at      time.Time        // of said
	skipped int              // events that were too many
}

// Who publishes can cause events at any rate: so many are said at once, and
// then so many a second.
const (
	eventsAtOnce  = 20
	eventsASecond = 0.5
)

// admit reports whether one more event may be said.
func (n *notes) admit() bool {
	now := time.Now()
	if n.now != nil {
		now = n.now()
	}
	n.said = max(n.said-now.Sub(n.at).Seconds()*eventsASecond, 0)
	n.at = now
	if n.said > eventsAtOnce-1 {
		n.skipped++
		return false
	}
	n.said++
	n.sayskipped()
	return true
}

func (n *notes) sayskipped() {
	if n.skipped > 0 {
		n.line(plural(n.skipped, "change") + " not said: they came too fast")
	}
	n.skipped = 0
}

// say writes one line, with the program's name before it.
func (n *notes) say(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.line(fmt.Sprintf(format, args...))
}

func (n *notes) line(text string) { fmt.Fprintf(n.out, "%s: %s\n", n.program, text) }

// subscribed says by which path frames come, or what is waited for, unless an
// event said so.
func (n *notes) subscribed(stream string, sub subscription) {
	if n.sayPath(stream, sub) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting {
		return
	}
	info := sub.Info()
	if info.Topic != "" && info.State == "running" {
		return // the first frame says in what form they come
	}
	text := fmt.Sprintf("%s: waiting for the first frame", stream)
	if info.State != "" && info.Camera != "" {
		text += fmt.Sprintf(", camera %s is %s", info.Camera, info.State)
	}
	if info.Problem != "" {
		text += ": " + info.Problem
	}
	n.line(text)
}

// firstFrame says the path where it was not known before.
func (n *notes) firstFrame(stream string, sub subscription) { n.sayPath(stream, sub) }

// sayPath says the path once; false if it is not known yet.
func (n *notes) sayPath(stream string, sub subscription) bool {
	path, info := sub.Path(), sub.Info()
	if path.Backend == "" || info.Geometry.Width == 0 {
		return false
	}
	text := pathText(stream, path, info)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.path != text {
		n.path = text
		n.line(text)
	}
	return true
}

// pathText is for example
// "test/color by shm (futex), 1280x720 bgra8; not cuda: not_offered".
func pathText(stream string, path client.Path, info negotiate.StreamInfo) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %s", stream, path.Backend)
	if over := path.Over(stream); over != "" {
		fmt.Fprintf(&b, " (%s)", over)
	}
	fmt.Fprintf(&b, ", %v", info.Geometry)
	if better := negotiate.Better(path.Rejected, path.Backend); len(better) > 0 {
		b.WriteString("; not " + negotiate.Summary(better) + negotiate.ClientDetails(better))
	}
	return b.String()
}

// ignored says how many messages were no frames. The first of each kind was
// said when it came.
func (n *notes) ignored(stream string, st client.Stats) {
	n.mu.Lock()
	n.sayskipped()
	n.mu.Unlock()
	if len(st.Ignored) == 0 {
		return
	}
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(st.Ignored)) {
		parts = append(parts, fmt.Sprintf("%s %d", reason, st.Ignored[reason]))
	}
	n.say("%s: messages ignored: %s", stream, strings.Join(parts, ", "))
}

// event says what changed. The first connection is said by sayPath.
func (n *notes) event(stream string, e client.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch e.Kind {
	case client.EventConnected:
		if n.path == "" || n.path == e.Text {
			return
		}
		n.path = e.Text // of which the first frame says nothing more
	case client.EventDisconnected, client.EventEnded:
		n.lost = e.Text
	case client.EventPathChanged:
		if n.lost != "" && strings.Contains(e.Text, n.lost) {
			return // said as it was lost
		}
	case client.EventWaiting:
		n.waiting = true
	}
	if !n.admit() {
		return
	}
	text := e.Text
	if text == "" {
		text = string(e.Kind)
	}
	if e.Err != nil && !strings.Contains(text, e.Err.Error()) {
		text += ": " + e.Err.Error()
	}
	if !strings.HasPrefix(text, stream) && !strings.Contains(text, " "+stream) {
		text = stream + ": " + text
	}
	n.line(text)
}
