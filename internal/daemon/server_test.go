// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// dial connects as a client that is not ours.
func dial(t testing.TB, dir string) *negotiate.Conn {
	t.Helper()
	c, err := negotiate.Dial(bounded(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func receive(t testing.TB, c *negotiate.Conn, want negotiate.Type) *negotiate.Message {
	t.Helper()
	m, files, err := c.Receive(time.Now().Add(deadline))
	_ = files.Close()
	if err != nil {
		t.Fatalf("waiting for %s: %v", want, err)
	}
	if m.Type != want {
		t.Fatalf("received %s, want %s", m.Type, want)
	}
	return m
}

func send(t testing.TB, c *negotiate.Conn, m *negotiate.Message) {
	t.Helper()
	if err := c.Send(m); err != nil {
		t.Fatal(err)
	}
}

func TestConnectionsOfOneUser(t *testing.T) {
	dir := runtimeDir(t)
	d := &Daemon{Dir: dir, Log: slog.New(slog.DiscardHandler), Cameras: []capture.Spec{spec(t, "a=pattern,64x64@10")}}
	d.files = filesBase + filesCamera + DefaultMaxSubscribers*filesSubscriber
	run(t, d)
	const most = DefaultMaxSubscribers + freeConnections
	ask := &negotiate.Message{Type: negotiate.TypeList, List: &negotiate.List{}}
	var conns []*negotiate.Conn
	for range most {
		c := dial(t, dir)
		send(t, c, ask)
		receive(t, c, negotiate.TypeStreams)
		conns = append(conns, c)
		// Those before stay: they have to ask now and then.
		for _, x := range conns[:len(conns)-1] {
			send(t, x, ask)
			receive(t, x, negotiate.TypeStreams)
		}
	}
	r := receive(t, dial(t, dir), negotiate.TypeReject).Reject
	if r.Reason != negotiate.ReasonLimit || !strings.Contains(r.Text, fmt.Sprintf("at most %d", most)) {
		t.Errorf("refused with %s: %s", r.Reason, r.Text)
	}
	for _, c := range conns {
		_ = c.Close()
	}
	for gone := false; !gone; runtime.Gosched() {
		d.server.mu.Lock()
		gone = d.server.total == 0 && len(d.server.byUser) == 0
		d.server.mu.Unlock()
	}
	next(t, subscribe(t, dir, "a/color")).Release()
	if n := d.Status().Refused[negotiate.ReasonLimit]; n != 1 {
		t.Errorf("status counts %d refusals, want 1", n)
	}
}

func TestQuarantine(t *testing.T) {
	dir := runtimeDir(t)
	d, _ := boot(t, dir, "a=pattern,64x64@100")
	clear := d.quarantine.Add(os.Getpid(), os.Getuid())
	_, err := client.Subscribe(bounded(t), "a/color", client.WithRuntimeDir(dir), client.WithLogger(slog.New(slog.DiscardHandler)))
	var r *client.RefusedError
	if !errors.As(err, &r) || r.Refusal.Reason != negotiate.ReasonQuarantined {
		t.Fatalf("got %v, want the reason %s", err, negotiate.ReasonQuarantined)
	}
	if _, err := client.List(bounded(t), client.WithRuntimeDir(dir)); err != nil {
		t.Errorf("a list is refused as well: %v", err)
	}
	clear()
	next(t, subscribe(t, dir, "a/color")).Release()
}

func TestWhatCannotBeginAConversation(t *testing.T) {
	dir := runtimeDir(t)
	boot(t, dir, "a=pattern,64x64@10")
	other := negotiate.Hello{Protocol: negotiate.Protocol{Major: negotiate.Major + 1}}
	cases := map[string]*negotiate.Message{
		"probe":         {Type: negotiate.TypeProbe, Probe: &negotiate.Probe{OK: true, Proof: strings.Repeat("0", 64)}},
		"kick":          {Type: negotiate.TypeKick},
		"ack":           {Type: negotiate.TypeAck, Ack: &negotiate.Ack{Epoch: 1}},
		"another major": {Type: negotiate.TypeHello, Hello: &other},
	}
	for name, m := range cases {
		t.Run(name, func(t *testing.T) {
			c := dial(t, dir)
			send(t, c, m)
			if r := receive(t, c, negotiate.TypeReject).Reject; r.Reason != negotiate.ReasonProtocol {
				t.Errorf("refused with %s: %s", r.Reason, r.Text)
			}
			if _, _, err := c.Receive(time.Now().Add(deadline)); !errors.Is(err, negotiate.ErrPeerGone) {
				t.Errorf("the connection is still there: %v", err)
			}
		})
	}
	c := dial(t, dir) // several requests on one connection, unknown ones between
	for range 3 {
		send(t, c, &negotiate.Message{Type: "later"})
		send(t, c, &negotiate.Message{Type: negotiate.TypeStatus})
		receive(t, c, negotiate.TypeStatus)
	}
}

// idle is a source that delivers nothing.
type idle struct{ text string }

func (i idle) Describe() string { return i.text }

func (idle) Run(ctx context.Context, _ capture.Sink) error {
	<-ctx.Done()
	return nil
}

// A host with more cameras than fit into a packet.
func TestManyCameras(t *testing.T) {
	const cameras = 300
	dir := runtimeDir(t)
	d := &Daemon{
		Dir: dir, Log: slog.New(slog.DiscardHandler),
		Sources: func(capture.Spec) (capture.Source, error) { return idle{strings.Repeat("x", 200)}, nil },
	}
	for i := range cameras {
		d.Cameras = append(d.Cameras, spec(t, fmt.Sprintf("camera%d=pattern,max_subscribers=1", i)))
	}
	run(t, d)
	list, err := client.List(bounded(t), client.WithRuntimeDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(list[0].Streams); n != cameras {
		t.Errorf("%d streams listed, want %d", n, cameras)
	}
	docs, err := client.Status(bounded(t), client.WithRuntimeDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	var st Status
	if err := json.Unmarshal(docs[0], &st); err != nil {
		t.Fatal(err)
	}
	if !st.Truncated || len(st.Cameras) == 0 {
		t.Errorf("truncated %v, %d cameras", st.Truncated, len(st.Cameras))
	}
}

func TestStatusFits(t *testing.T) {
	sub := backend.Subscriber{Stream: "a/color", Command: "camsub", Client: strings.Repeat("c", 100)}
	stream := StreamStatus{StreamInfo: negotiate.StreamInfo{Name: "a/color", Source: "pattern"}}
	full := stream
	for range 8 {
		full.Subscribers = append(full.Subscribers, sub)
	}
	many := func(n int, s StreamStatus) (out []StreamStatus) {
		for range n {
			out = append(out, s)
		}
		return out
	}
	cameras := func(n int, problem string) (out []CameraStatus) {
		for range n {
			out = append(out, CameraStatus{Name: "a", Problem: problem})
		}
		return out
	}
	visited := full
	visited.Subscribers = append([]backend.Subscriber(nil), full.Subscribers...)
	for i := range 1000 {
		visited.Subscribers = append(visited.Subscribers, backend.Subscriber{Backend: negotiate.BackendCPU, Host: fmt.Sprint("h", i)})
	}
	const room = 20000
	cases := map[string]struct {
		in        Status
		truncated bool
		streams   int // left, -1 = fewer than there were
		cameras   int
	}{
		"small":               {Status{Streams: many(2, full), Cameras: cameras(2, "")}, false, 2, 2},
		"many on the network": {Status{Streams: many(2, visited), Cameras: cameras(2, "")}, true, 2, 2},
		"many subscribers":    {Status{Streams: many(20, full), Cameras: cameras(2, "")}, true, 20, 2},
		"long problems":       {Status{Streams: many(2, stream), Cameras: cameras(20, strings.Repeat("no. ", 600))}, true, 2, 20},
		"many streams":        {Status{Streams: many(500, full), Cameras: cameras(2, "")}, true, -1, 2},
		"many of both":        {Status{Streams: many(500, full), Cameras: cameras(500, "gone")}, true, -1, -1},
		"nothing that can go": {Status{Host: strings.Repeat("h", room)}, true, 0, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			streams, cams := len(c.in.Streams), len(c.in.Cameras)
			b, err := fit(c.in, room)
			if name == "nothing that can go" {
				if err == nil {
					t.Error("no error")
				}
				return
			}
			if err != nil || len(b) > room {
				t.Fatalf("%d bytes, %v", len(b), err)
			}
			var out Status
			if err := json.Unmarshal(b, &out); err != nil {
				t.Fatal(err)
			}
			if name == "many on the network" && len(out.Streams[0].Subscribers) != len(full.Subscribers)+16 {
				t.Errorf("%d subscribers are left", len(out.Streams[0].Subscribers))
			}
			left := func(n, want, had int) bool { return n == want || want < 0 && n > 0 && n < had }
			if out.Truncated != c.truncated || !left(len(out.Streams), c.streams, streams) || !left(len(out.Cameras), c.cameras, cams) {
				t.Errorf("truncated %v, %d streams, %d cameras", out.Truncated, len(out.Streams), len(out.Cameras))
			}
			if len(full.Subscribers) != 8 || len(c.in.Streams) != streams || len(c.in.Cameras) != cams {
				t.Error("the document that was given has been changed")
			}
		})
	}
}

// Clients that do nothing do not keep the daemon from its end.
func TestEndAmongStuckClients(t *testing.T) {
	dir := runtimeDir(t)
	_, stop := boot(t, dir, "a=pattern,64x64@100,slots=3,evict_after=1ms")
	hello := &negotiate.Message{Type: negotiate.TypeHello, Hello: &negotiate.Hello{
		Protocol: negotiate.Current(), Stream: "a/color", Accepts: []negotiate.Backend{negotiate.BackendSHM},
	}}
	silent := dial(t, dir) // says nothing
	half := dial(t, dir)   // does not answer the offer
	hoarder := subscribe(t, dir, "a/color")
	held := next(t, hoarder)
	send(t, half, hello)
	receive(t, half, negotiate.TypeOffer)
	deaf := dial(t, dir) // reads no answer
	for deaf.Send(&negotiate.Message{Type: negotiate.TypeStatus}) == nil {
	}
	stop()
	for name, c := range map[string]*negotiate.Conn{"silent": silent, "half": half} {
		var err error
		for err == nil { // it may have been told before that it is late
			_, _, err = c.Receive(time.Now().Add(deadline))
		}
		if !errors.Is(err, negotiate.ErrPeerGone) {
			t.Errorf("%s: %v, want the end of the connection", name, err)
		}
	}
	held.Release()
}

// The next daemon may start as soon as Run has returned.
func TestDirectoryIsFreeAfterRun(t *testing.T) {
	dir := runtimeDir(t)
	for range 50 {
		_, stop := boot(t, dir, "a=pattern,64x64@10")
		stop()
	}
}
