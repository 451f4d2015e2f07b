// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is a deadline that only a failing test reaches.
func soon() time.Time { return time.Now().Add(20 * time.Second) }

// logText is a log that a test reads.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) contains(s string) bool { return l.count(s) > 0 }

func (l *logText) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.text.Bytes(), []byte(s))
}

// rig is a Server behind a real socket; the test is source and clients.
type rig struct {
	*Server
	t          *testing.T
	listener   *negotiate.Listener
	log        logText
	quarantine negotiate.Quarantine
	clock      atomic.Int64 // of the rings
	generation atomic.Uint64
	epoch      uint64
	sequence   uint64
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "camd-test-") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := negotiate.Listen(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	rg := &rig{t: t, listener: l}
	rg.Server = &Server{Config: Config{
		Backend: negotiate.BackendSHM,
		Stream:  "test/color", Session: frame.Session{7},
		Info:          func() negotiate.StreamInfo { return negotiate.StreamInfo{Name: "test/color"} },
		DefaultCredit: 2, MaxCredit: ring.MaxCredit,
		ProbeTimeout: 20 * time.Second, ForceAfter: 20 * time.Second,
		Quarantine: &rg.quarantine, Log: slog.New(slog.NewTextHandler(&rg.log, nil)),
	}}
	t.Cleanup(func() { rg.SetEpoch(nil, nil) })
	return rg
}

// newRing makes the next epoch and puts it in place.
func (rg *rig) newRing(change func(*ring.Config)) *ring.Ring {
	rg.t.Helper()
	rg.epoch++
	g, err := frame.NewGeometry(frame.Mono8, 64, 16+int(rg.epoch%16))
	if err != nil {
		rg.t.Fatal(err)
	}
	cfg := ring.Config{
		Name: "test/color", Session: rg.Session, Epoch: rg.epoch, Geometry: g,
		Slots: ring.SlotsFor(1, 2, 2), MaxReaders: 2, Generation: &rg.generation,
		EvictAfter: time.Second, Now: rg.clock.Load,
	}
	if change != nil {
		change(&cfg)
	}
	r, err := ring.New(cfg)
	if err != nil {
		rg.t.Fatal(err)
	}
	rg.SetEpoch(&Epoch{Ring: r}, nil)
	return r
}

func (rg *rig) publish(r *ring.Ring) uint64 {
	rg.t.Helper()
	slot, err := r.Acquire()
	if err != nil {
		rg.t.Fatal(err)
	}
	rg.sequence++
	r.Publish(slot, &frame.Meta{Sequence: rg.sequence, Bytes: len(r.Data(slot))})
	return rg.sequence
}

// peer is a client as the wire sees it.
type peer struct {
	t      *testing.T
	conn   *negotiate.Conn
	view   *ring.View
	end    context.CancelCauseFunc
	done   chan struct{} // Serve has returned
	err    error         // what it returned, after done
	server *negotiate.Conn
}

// call connects and has Serve answer a hello.
func (rg *rig) call(h negotiate.Hello) *peer {
	rg.t.Helper()
	conn, err := negotiate.Dial(context.Background(), rg.listener.Dir())
	if err != nil {
		rg.t.Fatal(err)
	}
	server, err := rg.listener.Accept()
	if err != nil {
		rg.t.Fatal(err)
	}
	ctx, end := context.WithCancelCause(context.Background())
	p := &peer{t: rg.t, conn: conn, end: end, done: make(chan struct{}), server: server}
	go func() {
		defer close(p.done)
		p.err = rg.Serve(ctx, server, &h, nil)
		_ = server.Close()
	}()
	rg.t.Cleanup(func() {
		end(nil)
		_ = conn.Close()
		<-p.done
		if p.view != nil {
			_ = p.view.Close()
		}
	})
	return p
}

// receive expects a message of one type. Its files are closed with the test.
func (p *peer) receive(want negotiate.Type) (*negotiate.Message, negotiate.Files) {
	p.t.Helper()
	m, files, err := p.conn.Receive(soon())
	if err != nil {
		p.t.Fatalf("waiting for %s: %v", want, err)
	}
	p.t.Cleanup(func() { _ = files.Close() })
	if m.Type != want {
		p.t.Fatalf("received %s, want %s", m.Type, want)
	}
	return m, files
}

func (p *peer) send(m *negotiate.Message) {
	p.t.Helper()
	if err := p.conn.Send(m); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) open(l negotiate.Layout, files negotiate.Files) *ring.View {
	p.t.Helper()
	v, err := ring.OpenView(ring.Layout{
		Slots: l.Slots, HeaderBytes: l.HeaderBytes, StrideBytes: l.StrideBytes,
		PixelBytes: l.PixelBytes, PageBytes: l.PageBytes, Epoch: l.Epoch,
	}, files[0], files[1])
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// offered maps what is offered and returns the right answer.
func (p *peer) offered() *negotiate.Message {
	p.t.Helper()
	m, files := p.receive(negotiate.TypeOffer)
	p.view = p.open(m.Offer.Layout, files)
	return &negotiate.Message{Type: negotiate.TypeProbe, Probe: &negotiate.Probe{
		OK: true, Proof: negotiate.Proof(m.Offer.Challenge, p.view.Probe()),
	}}
}

// join goes through the hand-shake.
func (rg *rig) join(h negotiate.Hello) *peer {
	rg.t.Helper()
	p := rg.call(h)
	p.send(p.offered())
	_, files := p.receive(negotiate.TypeStart)
	if err := p.view.Attach(files[0], files[1]); err != nil {
		rg.t.Fatal(err)
	}
	rg.started(p)
	return p
}

// started waits until the subscription is listed, which follows its START.
func (rg *rig) started(p *peer) {
	rg.t.Helper()
	for end := soon(); !rg.has(p); runtime.Gosched() {
		if time.Now().After(end) {
			rg.t.Fatal("the subscription is not listed")
		}
	}
}

func (rg *rig) has(p *peer) bool {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	for _, s := range rg.subs {
		if s.conn == p.server {
			return true
		}
	}
	return false
}

// reconfigured goes over to the next epoch that is announced.
func (p *peer) reconfigured() (epoch uint64) {
	p.t.Helper()
	m, files := p.receive(negotiate.TypeReconfig)
	_ = p.view.Close()
	p.view = p.open(m.Reconfig.Layout, files)
	if err := p.view.Attach(files[2], files[3]); err != nil {
		p.t.Fatal(err)
	}
	return m.Reconfig.Layout.Epoch
}

func (p *peer) acknowledge(epoch uint64) {
	p.t.Helper()
	p.send(&negotiate.Message{Type: negotiate.TypeAck, Ack: &negotiate.Ack{Epoch: epoch}})
}

// take waits for a frame.
func (p *peer) take() ring.Lease {
	p.t.Helper()
	var l ring.Lease
	for end := soon(); time.Now().Before(end); {
		count := p.view.Arm()
		ok, err := p.view.Take(&l)
		if err != nil {
			p.t.Fatal(err)
		}
		if ok {
			p.view.Disarm()
			return l
		}
		p.view.Wait(count, time.Second)
	}
	p.t.Fatal("no frame came")
	return l
}

func (p *peer) over() {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(time.Until(soon())):
		p.t.Fatal("Serve does not return")
	}
}

func wantDeclined(t *testing.T, err error, want negotiate.Reason) *backend.DeclinedError {
	t.Helper()
	var d *backend.DeclinedError
	if !errors.As(err, &d) {
		t.Fatalf("Serve returned %v, want it declined with %s", err, want)
	}
	if d.Reason != want {
		t.Fatalf("declined with %v, want %s", d, want)
	}
	return d
}
