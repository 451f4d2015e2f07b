// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

//go:embed node.py
var script string

// patience is how long a test waits for something that must happen, also where
// the machine has much else to do.
const patience = 40 * time.Second

// event is what a node tells.
type event struct {
	Ev, Key, Kind, Encoding, Priority, Congestion, Timestamp string
	Attachment, Text, SHA256, Parameters, ZID                string
	Express                                                  bool
	Len, Count                                               int
	Micros                                                   float64
	Peers, Routers                                           []string
}

// node is a running node of the reference implementation.
type node struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	events chan event
	zid    string
}

type command map[string]any

// start runs a node with a configuration in JSON5.
func start(t testing.TB, version, conf string) *node {
	t.Helper()
	return startIn(t, nil, version, conf)
}

// startIn runs a node by another command, for example in a network namespace.
func startIn(t testing.TB, by []string, version, conf string) *node {
	t.Helper()
	py := python(t, version)
	file := filepath.Join(t.TempDir(), "node.py")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	line := append(by, py, file, conf)
	n := &node{t: t, cmd: exec.Command(line[0], line[1:]...), events: make(chan event, 4096)}
	n.cmd.Stderr = os.Stderr
	var err error
	if n.in, err = n.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(n.events)
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
			n.events <- e
		}
	}()
	t.Cleanup(n.kill)
	n.zid = n.want("ready").ZID
	return n
}

// kill ends the node without a goodbye.
func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	for range n.events {
	}
	_ = n.cmd.Wait()
}

func (n *node) tell(c command) {
	n.t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := n.in.Write(append(b, '\n')); err != nil {
		n.t.Fatal(err)
	}
}

// next waits for an event of any kind.
func (n *node) next() event {
	n.t.Helper()
	select {
	case e, ok := <-n.events:
		if !ok {
			n.t.Fatal("the node has ended")
		}
		return e
	case <-time.After(patience):
		n.t.Fatal("no event from the node")
	}
	return event{}
}

// want waits for an event, which must be of the kind.
func (n *node) want(ev string) event {
	n.t.Helper()
	e := n.next()
	if e.Ev != ev {
		n.t.Fatalf("event %+v, want %s", e, ev)
	}
	return e
}

// both waits until each condition has held for an event, in any order.
func (n *node) both(conds ...func(event) bool) {
	n.t.Helper()
	for len(conds) > 0 {
		e := n.next()
		conds = slices.DeleteFunc(conds, func(c func(event) bool) bool { return c(e) })
	}
}

// do tells and waits for the event that ends it.
func (n *node) do(c command, ev string) event {
	n.t.Helper()
	n.tell(c)
	return n.want(ev)
}

// publisher declares one and waits until it has a subscriber.
func (n *node) publisher(name, key string) {
	n.t.Helper()
	n.do(command{"op": "pub", "name": name, "key": key}, "declared")
	n.matching(name, true)
}

// matching waits until the publisher has a subscriber, or none.
func (n *node) matching(name string, want bool) {
	n.t.Helper()
	n.do(command{"op": "match", "name": name, "matching": want}, "matches")
}

const quiet = "scouting: {multicast: {enabled: false}}"

// router starts a router and returns its endpoint.
func router(t testing.TB, version string, more ...string) (*node, string) {
	t.Helper()
	e := fmt.Sprintf("tcp/127.0.0.1:%d", proctest.Port(t))
	return start(t, version, listening("router", e, more...)), e
}

func listening(mode, endpoint string, more ...string) string {
	s := fmt.Sprintf("{mode: %q, listen: {endpoints: [%q]}, %s", mode, endpoint, quiet)
	for _, m := range more {
		s += ", " + m
	}
	return s + "}"
}

func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return c
}

// open opens a session of ours.
func open(t testing.TB, c *config.Config) *zenoh.Session {
	t.Helper()
	s, err := zenoh.Open(ctx(t), c, &zenoh.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(ctx(t)); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return s
}

// client opens a session of ours to an endpoint.
func client(t testing.TB, endpoint string) *zenoh.Session {
	t.Helper()
	return open(t, config.Client(endpoint))
}
