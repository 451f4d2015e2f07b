// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// gate is an output that blocks until it is opened.
type gate struct {
	entered chan struct{} // a write has begun
	open    chan struct{}

	mu  sync.Mutex
	buf bytes.Buffer
}

func newGate() *gate {
	return &gate{entered: make(chan struct{}, 1), open: make(chan struct{})}
}

func (g *gate) Write(p []byte) (int, error) {
	select {
	case g.entered <- struct{}{}:
	default:
	}
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.Write(p)
}

func (g *gate) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.String()
}

func TestLogWriter(t *testing.T) {
	cases := map[string]struct {
		blocked int // lines while nothing is read; the first is being written
		after   int // more once all of that is written
		want    string
	}{
		"none":                {0, 0, ""},
		"in order":            {0, 3, "0 1 2"},
		"wait":                {5, 1, "0 1 2 3 4 5"},
		"one too many":        {6, 0, "0 1 2 3 4 1-lost"},
		"lost at the end":     {100, 0, "0 1 2 3 4 95-lost"},
		"lost in between":     {100, 2, "0 1 2 3 4 95-lost 100 101"},
		"the caller's buffer": {2, 0, "0 1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			out := newGate()
			w := newLogWriter(out, 4, func(n int) { fmt.Fprintf(out, "%d-lost ", n) })
			buf := make([]byte, 0, 16)
			for i := range c.blocked {
				buf = fmt.Appendf(buf[:0], "%d ", i)
				if n, err := w.Write(buf); n != len(buf) || err != nil {
					t.Fatalf("line %d: %d bytes, %v", i, n, err)
				}
				if i == 0 {
					<-out.entered
				}
			}
			close(out.open)
			for len(w.queue) > 0 {
				runtime.Gosched()
			}
			for i := range c.after {
				fmt.Fprintf(w, "%d ", c.blocked+i)
			}
			if !w.Close(time.Minute) {
				t.Fatal("lines are left")
			}
			if got := strings.TrimSpace(out.String()); got != c.want {
				t.Errorf("written: %s\nwant:    %s", got, c.want)
			}
			if n, err := w.Write([]byte("late")); n != 4 || err != nil {
				t.Errorf("after Close: %d, %v", n, err)
			}
		})
	}
}

// An output that stays stuck does not keep the process.
func TestLogWriterThatIsStuck(t *testing.T) {
	out := newGate()
	w := newLogWriter(out, 4, func(int) { t.Error("nothing was dropped") })
	fmt.Fprint(w, "line")
	<-out.entered
	if w.Close(time.Millisecond) {
		t.Error("closed although the line is not written")
	}
	close(out.open)
	if !w.Close(time.Minute) || out.String() != "line" {
		t.Errorf("written in the end: %q", out.String())
	}
}

// While stderr is stuck a program logs on, and can end, also with an error. What
// was dropped is said once it is read again.
func TestStuckStderr(t *testing.T) {
	out := newGate()
	root := &cobra.Command{Use: "camd"}
	flags := AddLogFlags(root.Flags(), "info")
	const lines = logQueue + 100
	root.RunE = func(*cobra.Command, []string) error {
		log, flush := flags.Queued(out)
		defer flush()
		log.Info("first")
		<-out.entered
		for i := range lines {
			log.Info("line", "n", i)
		}
		return errors.New("no more")
	}
	if code := Execute(t.Context(), root, nil, io.Discard, out); code != ExitFailure {
		t.Errorf("exit code %d", code)
	}
	if got := out.String(); got != "" {
		t.Fatalf("written although stuck: %s", got)
	}
	close(out.open)
	hung := time.Now().Add(time.Minute)
	for _, want := range []string{"msg=first", "n=0\n", fmt.Sprintf("n=%d\n", logQueue-1), "lines=100\n", "camd: no more\n"} {
		for !strings.Contains(out.String(), want) {
			if time.Now().After(hung) {
				t.Fatalf("%q is missing at the end of %q", want, tailOf(out.String()))
			}
			runtime.Gosched()
		}
	}
	if got := out.String(); strings.Contains(got, fmt.Sprintf("n=%d\n", logQueue)) {
		t.Error("more lines than the queue has room for")
	}
}

func tailOf(s string) string { return s[max(0, len(s)-500):] }
