// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// Bounds of a log that nobody reads: Ctrl-S on a terminal, a stopped tee.
const (
	logQueue = 1024        // lines that wait
	logFlush = time.Second // at the end of the process
)

// logWriter takes lines without ever blocking and writes them in order from a
// goroutine of its own. Lines that find no place are dropped; how many is said in
// their place. Close ends the goroutine.
type logWriter struct {
	out     io.Writer
	dropped func(lines int) // called by the goroutine, in the place of the lines
	done    chan struct{}

	mu     sync.Mutex
	queue  chan logLine
	lost   int // since the newest line in the queue
	closed bool
}

type logLine struct {
	lost int // lines dropped right before it
	text []byte
}

// newLogWriter starts the goroutine. dropped writes to out by itself.
func newLogWriter(out io.Writer, lines int, dropped func(lines int)) *logWriter {
	w := &logWriter{out: out, dropped: dropped, queue: make(chan logLine, lines), done: make(chan struct{})}
	go w.run()
	return w
}

// Write queues a copy of one line. It never fails: a log has nobody to tell.
func (w *logWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return len(p), nil
	}
	select {
	case w.queue <- logLine{lost: w.lost, text: bytes.Clone(p)}:
		w.lost = 0
	default:
		w.lost++
	}
	return len(p), nil
}

func (w *logWriter) run() {
	defer close(w.done)
	for l := range w.queue {
		w.say(l.lost)
		// A log that cannot be written is no reason to end.
		_, _ = w.out.Write(l.text)
		if len(w.queue) == 0 {
			w.say(w.take())
		}
	}
	w.say(w.take())
}

func (w *logWriter) say(lost int) {
	if lost > 0 {
		w.dropped(lost)
	}
}

// take returns the lines that were dropped behind an empty queue.
func (w *logWriter) take() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) > 0 {
		return 0 // the next line says it
	}
	n := w.lost
	w.lost = 0
	return n
}

// Close takes no more lines and waits at most so long until those that wait are
// written. It reports whether they were; else the goroutine stays behind, stuck
// in a write, for the end of the process.
func (w *logWriter) Close(limit time.Duration) bool {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-w.done:
		return true
	case <-t.C:
		return false
	}
}
