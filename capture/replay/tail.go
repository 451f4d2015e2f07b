// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"strings"
	"sync"
)

// Bounds of what is kept of a child's stderr.
const (
	tailLines     = 8
	tailLineBytes = 300
)

// tail is an io.Writer that keeps the last lines. It takes everything, so that
// the child never waits for us.
type tail struct {
	mu    sync.Mutex
	lines []string
	part  []byte // the line that has not ended yet
	more  int    // lines forgotten
}

func newTail() *tail { return &tail{} }

// Write implements io.Writer. It never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexAny(p, "\n\r")
		if i < 0 {
			t.keep(p)
			break
		}
		t.keep(p[:i])
		t.endLine()
		p = p[i+1:]
	}
	return n, nil
}

func (t *tail) keep(p []byte) {
	t.part = append(t.part, p[:min(len(p), tailLineBytes-len(t.part))]...)
}

func (t *tail) endLine() {
	line := strings.TrimSpace(strings.ToValidUTF8(string(t.part), "?"))
	t.part = t.part[:0]
	if line == "" {
		return
	}
	if len(t.lines) == tailLines {
		t.lines = append(t.lines[:0], t.lines[1:]...)
		t.more++
	}
	t.lines = append(t.lines, line)
}

// text is what was kept, lines joined by "; ".
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLine()
	s := strings.Join(t.lines, "; ")
	if t.more > 0 {
		s = "...; " + s
	}
	return s
}

// quote is what goes behind an error: ": it said ...", or nothing.
func (t *tail) quote() string {
	if s := t.text(); s != "" {
		return ": it said: " + s
	}
	return ""
}
