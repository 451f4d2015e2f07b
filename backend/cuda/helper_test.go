// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"bytes"
	"context"
	"encoding/binary"
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
	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/backend/local"
	"github.com/seed-3c7e7623/camd/cudabuf"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is a deadline that only a failing test reaches.
func soon() time.Time { return time.Now().Add(20 * time.Second) }

// until waits for a condition that has to come true.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := soon(); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("not within the time: %s", what)
		}
	}
}

type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) contains(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.text.Bytes(), []byte(s))
}

// rig is a Backend behind a real socket, on a simulated GPU; the test is source
// and clients.
type rig struct {
	*Backend
	t          *testing.T
	dir        string // of the simulation
	library    string
	listener   *negotiate.Listener
	log        logText
	quarantine negotiate.Quarantine
	generation atomic.Uint64
	epoch      uint64
	sequence   uint64
	width      int // of frames
	host       *ring.Ring
}

func newRig(t *testing.T, so sim.Options, o Options) *rig {
	t.Helper()
	rg := &rig{t: t, library: sim.Build(t), width: 64}
	rg.dir = sim.Setenv(t, so)
	l, err := negotiate.Listen(filepath.Join(shortDir(t), "run"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	rg.listener = l
	log := slog.New(slog.NewTextHandler(&rg.log, nil))
	if o.Library == "" {
		o.Library = rg.library
	}
	o.Log = log
	rg.Backend = New(Open(o), local.Config{
		Stream: "test/color", Session: frame.Session{7},
		Info:          func() negotiate.StreamInfo { return negotiate.StreamInfo{Name: "test/color"} },
		DefaultCredit: 2, MaxCredit: ring.MaxCredit,
		ProbeTimeout: 20 * time.Second, ForceAfter: 20 * time.Second,
		Quarantine: &rg.quarantine, Log: log,
	}, Rings{Readers: 2, EvictAfter: time.Hour})
	t.Cleanup(func() {
		rg.Close()
		if rg.host != nil {
			rg.host.Retire()
		}
	})
	return rg
}

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "camd-test-") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// newRing makes the next epoch of the host ring.
func (rg *rig) newRing(encoding frame.Encoding) *ring.Ring {
	rg.t.Helper()
	rg.epoch++
	g, err := frame.NewGeometry(encoding, rg.width, 64+16*int(rg.epoch%16))
	if encoding.Compressed() {
		g, err = frame.NewCompressed(encoding, 64, 64, 4096)
	}
	if err != nil {
		rg.t.Fatal(err)
	}
	r, err := ring.New(ring.Config{
		Name: "test/color", Session: rg.Session, Epoch: rg.epoch, Geometry: g,
		Slots: ring.SlotsFor(1, 2, 2) + Credit, MaxReaders: 2, Generation: &rg.generation,
		EvictAfter: time.Hour,
	})
	if err != nil {
		rg.t.Fatal(err)
	}
	if rg.host != nil {
		rg.host.Retire()
	}
	rg.host = r
	rg.SetRing(r)
	return r
}

// paint fills a frame so that each part of it says which it is.
func paint(data []byte, sequence uint64) {
	for i := 0; i+8 <= len(data); i += 8 {
		binary.NativeEndian.PutUint64(data[i:], sequence<<20|uint64(i))
	}
}

func (rg *rig) publish() uint64 {
	rg.t.Helper()
	slot, err := rg.host.Acquire()
	if err != nil {
		rg.t.Fatal(err)
	}
	rg.sequence++
	paint(rg.host.Data(slot), rg.sequence)
	rg.host.Publish(slot, &frame.Meta{Sequence: rg.sequence, ReadyNanos: int64(rg.sequence), Bytes: len(rg.host.Data(slot))})
	return rg.sequence
}

func hello() negotiate.Hello {
	return negotiate.Hello{
		Accepts: []negotiate.Backend{negotiate.BackendCUDA}, GPUs: []negotiate.GPU{{UUID: sim.UUID(0)}},
		Handles: []negotiate.HandleKind{negotiate.HandleVMM},
	}
}

// peer is a client as the wire sees it, with a thread on the GPU.
type peer struct {
	t      *testing.T
	conn   *negotiate.Conn
	thread *driver.Thread
	view   *ring.View
	memory *cudabuf.Memory
	stream driver.Stream
	host   []byte // pinned, for a whole slot
	end    context.CancelCauseFunc
	done   chan struct{} // Serve has returned
	err    error         // what it returned, after done
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
	p := &peer{t: rg.t, conn: conn, end: end, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = rg.Serve(ctx, server, &h, nil)
		_ = server.Close()
	}()
	rg.t.Cleanup(p.leave)
	return p
}

// leave ends the subscription and lets go of all memory.
func (p *peer) leave() {
	p.end(nil)
	_ = p.conn.Close()
	<-p.done
	p.unmap()
	if p.thread != nil {
		if err := p.thread.Close(); err != nil {
			p.t.Error(err)
		}
		p.thread = nil
	}
}

func (p *peer) unmap() {
	p.t.Helper()
	if p.view != nil {
		_ = p.view.Close()
		p.view = nil
	}
	if p.memory == nil {
		return
	}
	p.do(func(t *driver.Thread) error {
		return errors.Join(t.StreamSync(p.stream), t.DestroyStream(p.stream), t.HostFree(p.host), p.memory.Close(t))
	})
	p.memory = nil
}

func (p *peer) do(f func(*driver.Thread) error) {
	p.t.Helper()
	if err := p.thread.Do(func() error { return f(p.thread) }); err != nil {
		p.t.Error(err)
	}
}

func (p *peer) receive(want negotiate.Type) (*negotiate.Message, negotiate.Files) {
	p.t.Helper()
	m, files, err := p.conn.Receive(soon())
	if err != nil {
		p.t.Fatalf("waiting for %s: %v", want, err)
	}
	p.t.Cleanup(func() { _ = files.Close() })
	if m.Type != want {
		p.t.Fatalf("received %s, want %s: %+v", m.Type, want, m)
	}
	return m, files
}

func (p *peer) send(m *negotiate.Message) {
	p.t.Helper()
	if err := p.conn.Send(m); err != nil {
		p.t.Fatal(err)
	}
}

// open maps an epoch and imports its memory, and returns the probe bytes there.
func (p *peer) open(l negotiate.Layout, d *negotiate.Device, files negotiate.Files) []byte {
	p.t.Helper()
	var err error
	if p.view, err = ring.OpenHeader(ring.Layout{
		Slots: l.Slots, HeaderBytes: l.HeaderBytes, StrideBytes: l.StrideBytes,
		PixelBytes: l.PixelBytes, PageBytes: l.PageBytes, Epoch: l.Epoch,
	}, files[0]); err != nil {
		p.t.Fatal(err)
	}
	probe := make([]byte, negotiate.ProbeBytes)
	p.do(func(t *driver.Thread) error {
		if p.memory, err = cudabuf.Import(t, files[1], d.Bytes, false); err != nil {
			return err
		}
		if p.stream, err = t.NewStream(0); err != nil {
			return err
		}
		if p.host, err = t.HostAlloc(int(l.StrideBytes)); err != nil {
			return err
		}
		if err := t.DtoH(p.host[:len(probe)], p.memory.Base()+driver.Ptr(d.ProbeOffset), p.stream); err != nil {
			return err
		}
		defer copy(probe, p.host)
		return t.StreamSync(p.stream)
	})
	// The descriptor counts as a use of the memory.
	_ = unix.Close(files.Take(1))
	return probe
}

// join goes through the hand-shake.
func (rg *rig) join(h negotiate.Hello) *peer {
	rg.t.Helper()
	p := rg.call(h)
	m, files := p.receive(negotiate.TypeOffer)
	d, dev := rg.engine.gpu()
	var err error
	if p.thread, err = d.Start(dev, "reader"); err != nil {
		rg.t.Fatal(err)
	}
	probe := p.open(m.Offer.Layout, m.Offer.Device, files)
	p.send(&negotiate.Message{Type: negotiate.TypeProbe, Probe: &negotiate.Probe{
		OK: true, Proof: negotiate.Proof(m.Offer.Challenge, append(p.view.Probe(), probe...)),
	}})
	_, files = p.receive(negotiate.TypeStart)
	p.attach(files[0], files[1])
	until(rg.t, "the subscription is listed", func() bool {
		select {
		case <-p.done:
			rg.t.Fatal(p.err)
		default:
		}
		return rg.Wanted()
	})
	return p
}

func (p *peer) attach(page, wake int) {
	p.t.Helper()
	if err := p.view.Attach(page, wake); err != nil {
		p.t.Fatal(err)
	}
}

// reconfigured goes over to the next epoch.
func (p *peer) reconfigured() uint64 {
	p.t.Helper()
	m, files := p.receive(negotiate.TypeReconfig)
	p.unmap()
	p.open(m.Reconfig.Layout, m.Reconfig.Device, files)
	p.attach(files[2], files[3])
	epoch := m.Reconfig.Layout.Epoch
	p.send(&negotiate.Message{Type: negotiate.TypeAck, Ack: &negotiate.Ack{Epoch: epoch}})
	return epoch
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

// check holds the frame in device memory against its number.
func (p *peer) check(l ring.Lease) {
	p.t.Helper()
	got := p.host[:l.Meta.Bytes]
	clear(got)
	p.do(func(t *driver.Thread) error {
		return errors.Join(t.DtoH(got, p.memory.Base()+driver.Ptr(l.Offset), p.stream), t.StreamSync(p.stream))
	})
	want := make([]byte, len(got))
	paint(want, l.Meta.Sequence)
	if !bytes.Equal(got, want) {
		p.t.Fatalf("frame %d: byte %d of %d differs", l.Meta.Sequence, mismatch(got, want), len(got))
	}
	if err := p.view.Check(l.Word); err != nil {
		p.t.Fatal(err)
	}
}

func mismatch(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

func (p *peer) over() {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(time.Until(soon())):
		p.t.Fatal("Serve does not return")
	}
}

// declined wants Serve to have declined for a reason.
func (p *peer) declined(want negotiate.Reason) *backend.DeclinedError {
	p.t.Helper()
	p.over()
	var d *backend.DeclinedError
	if !errors.As(p.err, &d) || d.Reason != want || d.Backend != negotiate.BackendCUDA {
		p.t.Fatalf("Serve returned %v, want it declined with %s", p.err, want)
	}
	return d
}

// gone wants nothing to be left on the GPU once all have left, and no rule
// broken.
func (rg *rig) gone() {
	rg.t.Helper()
	if n := sim.Memory(rg.t, rg.dir); n != 0 {
		rg.t.Errorf("%d bytes of device memory are left", n)
	}
	sim.NoLeaks(rg.t, rg.dir)
	sim.Clean(rg.t, rg.dir)
}

func rgConfig() local.Config {
	return local.Config{Stream: "test/color", DefaultCredit: 2, MaxCredit: ring.MaxCredit, Log: slog.New(slog.DiscardHandler)}
}

// hostOnly is a ring of frames without a rig.
func hostOnly(t *testing.T, encoding frame.Encoding) *ring.Ring {
	t.Helper()
	g, err := frame.NewGeometry(encoding, 64, 64)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ring.New(ring.Config{Name: "test/color", Epoch: 1, Geometry: g, Slots: 4, MaxReaders: 1, Generation: new(atomic.Uint64)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Retire)
	return r
}

// free wants nobody to be in quarantine.
func (rg *rig) free(t *testing.T) {
	t.Helper()
	if rg.quarantine.Holds(os.Getpid(), os.Getuid()) {
		t.Error("in quarantine without a frame")
	}
}
