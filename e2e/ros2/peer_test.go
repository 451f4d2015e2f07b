// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ros2

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/internal/venv"
	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for something that must happen.
const patience = 20 * time.Second

func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return c
}

// event is what the peer tells.
type event struct {
	Ev, Name, Key, Hash, GID, Text string
	Sequence, Nanos                int64
	Size                           int
	Tokens                         map[string]string
	Types                          []string
	Endpoints                      [][]string
	Message                        map[string]any
	Answers                        []answer
	Alive                          bool
}

// answer is one to a question.
type answer struct{ Key, Encoding, Payload string }

type command map[string]any

// peer is a running router with a node.
type peer struct {
	t        testing.TB
	endpoint string
	cmd      *exec.Cmd
	in       io.WriteCloser
	events   chan event
}

func startPeer(t testing.TB) *peer {
	t.Helper()
	return startPeerAt(t, proctest.Port(t))
}

func routerAt(port int) string { return fmt.Sprintf("tcp/127.0.0.1:%d", port) }

// startPeerAt starts a router, or where it is to be connected to others a peer.
func startPeerAt(t testing.TB, port int, connect ...string) *peer {
	t.Helper()
	args := []string{"peer.py", fmt.Sprint(port)}
	if len(connect) > 0 {
		list, err := json.Marshal(connect)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, string(list))
	}
	p := &peer{t: t, endpoint: routerAt(port), events: make(chan event, 1024), cmd: exec.Command(venv.ROS2.Python(t), args...)}
	var err error
	p.cmd.Stderr = os.Stderr
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool {
		return strings.HasPrefix(s, "ZENOH_") || strings.HasPrefix(s, "ROS_")
	})
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.events)
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			var e event
			if err := json.Unmarshal(line, &e); err != nil {
				e = event{Ev: "garbage", Text: string(line)}
			}
			p.events <- e
		}
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		for range p.events {
		}
		_ = p.cmd.Wait()
	})
	p.want("ready")
	return p
}

// next waits for an event.
func (p *peer) next() event {
	p.t.Helper()
	select {
	case e, ok := <-p.events:
		if !ok {
			p.t.Fatal("the peer has ended")
		}
		return e
	case <-time.After(patience):
		p.t.Fatal("no event of the peer")
	}
	return event{}
}

// want waits for an event, which must be of the kind.
func (p *peer) want(ev string) event {
	p.t.Helper()
	e := p.next()
	if e.Ev != ev {
		p.t.Fatalf("event %+v of the peer, want %s", e, ev)
	}
	return e
}

// tell tells the peer what to do.
func (p *peer) tell(c command) {
	p.t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.in.Write(append(b, '\n')); err != nil {
		p.t.Fatal(err)
	}
}

// do tells the peer what to do and waits for the event that ends it.
func (p *peer) do(c command, ev string) event {
	p.t.Helper()
	p.tell(c)
	return p.want(ev)
}

// open opens a session of ours to the router.
func (p *peer) open() *zenoh.Session {
	p.t.Helper()
	s, err := zenoh.Open(ctx(p.t), config.Client(p.endpoint), &zenoh.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = s.Close(ctx(p.t)) })
	return s
}

// settle waits until the router knows what s has declared so far: it answers
// in order.
func settle(t testing.TB, s *zenoh.Session) {
	t.Helper()
	if _, err := s.Liveliness(ctx(t), "settle"); err != nil {
		t.Fatal(err)
	}
}
