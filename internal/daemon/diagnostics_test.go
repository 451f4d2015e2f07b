// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/backend/cpu"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

// emptySession takes whatever is declared, and nobody subscribes.
type emptySession struct{}

func (emptySession) ZID() string                      { return "aac3178e146ba6f1fc6e6a4085e77f21" }
func (emptySession) Connected() bool                  { return true }
func (emptySession) Token(string) (cpu.Closer, error) { return emptySession{}, nil }
func (emptySession) Close() error                     { return nil }
func (emptySession) Matching() bool                   { return false }
func (emptySession) Put(cpu.Put) error                { return nil }
func (emptySession) Detach([]byte) int                { return 0 }
func (emptySession) Forget()                          {}

func (emptySession) Publish(string, cpu.PublishOptions) (cpu.Publisher, error) {
	return emptySession{}, nil
}

// lines hands on what is logged.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// A topic that another stream has is published when that gives it up.
func TestDiagnosticsAreTaken(t *testing.T) {
	said := make(lines, 16)
	d := &Daemon{log: slog.New(slog.NewTextHandler(said, nil)), network: newNetwork(Network{}, slog.Default())}
	link := d.network.link
	link.Open(emptySession{})
	declare := func() (*cpu.Topic, error) {
		return cpu.NewTopic(link, "other", diagnosticsTopic, msg.TypeDiagnosticArray, graph.ReliableDepth(1), func() {})
	}
	first, err := declare()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(bounded(t))
	over := make(chan struct{})
	go func() {
		defer close(over)
		(&diagnostics{d: d}).run(ctx)
	}()
	select {
	case line := <-said:
		if !strings.Contains(line, cpu.ErrTaken.Error()) {
			t.Error(line)
		}
	case <-ctx.Done():
		t.Fatal("nothing was said")
	}
	first.Close()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for taken := false; !taken; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("diagnostics did not come back")
		}
		probe, err := declare()
		if taken = errors.Is(err, cpu.ErrTaken); err == nil {
			probe.Close()
		}
	}
	cancel()
	<-over
	last, err := declare()
	if err != nil {
		t.Fatal(err)
	}
	last.Close()
}
