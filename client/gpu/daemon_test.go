// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/cudabuf"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// daemon is a small one, with one subscriber at a time. It offers the backends
// that it has one after the other.
type daemon struct {
	t       testing.TB
	dir     string
	gpu     int // on which cuda's frames are
	session frame.Session
	offers  []negotiate.Backend
	lie     func(o *negotiate.Offer, fds []int) // changes what is offered by cuda
	thread  *driver.Thread                      // nil without cuda
	source  []byte                              // pinned, from which frames are uploaded

	mu         sync.Mutex
	gone       bool       // answers nobody any more
	meta       frame.Meta // of the newest frame
	upload     func() error
	generation atomic.Uint64
	epoch      uint64
	sequence   uint64
	rings      map[negotiate.Backend]*epoch // the newest
	old        []*epoch
	conn       *negotiate.Conn
	taken      negotiate.Backend
	reader     *ring.Reader
	acked      chan struct{}
	begun      chan struct{}
	answers    chan *negotiate.Probe
	hellos     chan *negotiate.Hello
}

// epoch is a ring, on the GPU or not.
type epoch struct {
	*ring.Ring
	device *cudabuf.Ring
	writer *cudabuf.Writer
}

const (
	testWidth, testHeight = 256, 64
	testCredit            = 2
)

func newDaemon(t testing.TB, offers ...negotiate.Backend) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "camd-gpu-") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{
		t: t, dir: dir, gpu: 1, session: frame.Session{3, 1, 4}, offers: offers, rings: map[negotiate.Backend]*epoch{},
		acked: make(chan struct{}, 8), begun: make(chan struct{}, 64), answers: make(chan *negotiate.Probe, 64), hellos: make(chan *negotiate.Hello, 64),
	}
	d.upload = d.toGPU
	d.startThread()
	d.newRings(testHeight)
	l, err := negotiate.Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				_ = d.serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		d.hangUp()
		all.Wait()
		d.end()
		_ = os.RemoveAll(dir)
	})
	return d
}

func (d *daemon) startThread() {
	drv, err := driver.Open(sim.Build(d.t))
	if err != nil {
		d.t.Fatal(err)
	}
	devices, err := drv.Devices()
	if err != nil {
		d.t.Fatal(err)
	}
	if d.thread, err = drv.Start(devices[d.gpu], "daemon"); err != nil {
		d.t.Fatal(err)
	}
	d.must(func(t *driver.Thread) (err error) {
		d.source, err = t.HostAlloc(testWidth * testHeight)
		return err
	})
}

func (d *daemon) must(f func(t *driver.Thread) error) {
	d.t.Helper()
	if err := d.thread.Do(func() error { return f(d.thread) }); err != nil {
		d.t.Error(err)
	}
}

// newRings makes a new epoch.
func (d *daemon) newRings(height int) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.epoch++
	g, err := frame.NewGeometry(frame.Mono8, testWidth, height)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, b := range d.offers {
		cfg := ring.Config{
			Name: "test/color", Session: d.session, Epoch: d.epoch, Geometry: g,
			Slots: ring.SlotsFor(1, 1, testCredit), MaxReaders: 1, Generation: &d.generation,
		}
		e := &epoch{}
		if b == negotiate.BackendCUDA {
			d.must(func(t *driver.Thread) (err error) {
				if e.device, err = cudabuf.NewRing(t, cfg); err != nil {
					return err
				}
				e.Ring = e.device.Ring
				e.writer, err = cudabuf.NewWriter(t, e.device, 0)
				return err
			})
		} else if e.Ring, err = ring.New(cfg); err != nil {
			d.t.Fatal(err)
		}
		if was := d.rings[b]; was != nil {
			was.Retire()
			d.old = append(d.old, was)
		}
		d.rings[b] = e
	}
}

func (d *daemon) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.rings {
		d.old = append(d.old, e)
	}
	for _, e := range d.old {
		e.Retire()
		if e.device != nil {
			d.must(func(t *driver.Thread) error { return errors.Join(e.writer.Close(t), e.device.Close(t)) })
		}
	}
	d.must(func(t *driver.Thread) error { return t.HostFree(d.source) })
	if err := d.thread.Close(); err != nil {
		d.t.Error(err)
	}
}

func (d *daemon) hangUp() {
	d.mu.Lock()
	d.gone = true
	defer d.mu.Unlock()
	if d.conn != nil {
		_ = d.conn.Close()
	}
}

// publish sends one frame by the way that is taken; its bytes are its number.
func (d *daemon) publish() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.rings[d.taken]
	d.sequence++
	d.meta = frame.Meta{Sequence: d.sequence, Bytes: e.Geometry().Size()}
	if e.device == nil {
		slot, err := e.Acquire()
		if err != nil {
			d.t.Error(err)
			return 0
		}
		fill(e.Data(slot), d.sequence)
		e.Publish(slot, &d.meta)
		return d.sequence
	}
	if err := d.thread.Do(d.upload); err != nil {
		d.t.Error(err)
	}
	return d.sequence
}

// toGPU uploads and publishes a frame, on the thread. A frame allocates nothing,
// so that what the other side does can be counted.
func (d *daemon) toGPU() error {
	h, err := d.rings[cuda].writer.Begin()
	if err != nil {
		return err
	}
	src := d.source[:d.meta.Bytes]
	fill(src, d.sequence)
	if err := h.Upload(d.thread, src); err != nil {
		return err
	}
	return h.Publish(d.thread, &d.meta)
}

func fill(b []byte, sequence uint64) {
	for i := range b {
		b[i] = byte(sequence)
	}
}

func (d *daemon) info(e *epoch) negotiate.StreamInfo {
	return negotiate.StreamInfo{Name: "test/color", Camera: "test", State: "running", Geometry: e.Geometry(), Epoch: e.Epoch()}
}

func layout(l ring.Layout) negotiate.Layout {
	return negotiate.Layout{
		Version: ring.Version, Slots: l.Slots, HeaderBytes: l.HeaderBytes, StrideBytes: l.StrideBytes,
		PixelBytes: l.PixelBytes, PageBytes: l.PageBytes, Epoch: l.Epoch,
	}
}

// files are header and pixels, what is said of those on a GPU, and the probe.
func (d *daemon) files(e *epoch) (fds []int, dev *negotiate.Device, probe []byte) {
	h, p, err := e.Files()
	if err != nil {
		d.t.Error(err)
	}
	probe = e.Probe()
	if e.device != nil {
		if p, err = e.device.Handle(); err != nil {
			d.t.Error(err)
		}
		dev = &negotiate.Device{UUID: sim.UUID(d.gpu), Handle: negotiate.HandleVMM, Bytes: e.device.Bytes(), ProbeOffset: e.device.ProbeOffset()}
		probe = append(e.Ring.Probe(), e.device.Probe()...)
	}
	return []int{h, p}, dev, probe
}

func closeFiles(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

func (d *daemon) serve(conn *negotiate.Conn) error {
	m, _, err := conn.Receive(time.Time{})
	if err != nil || m.Type != negotiate.TypeHello {
		return err
	}
	hello := m.Hello
	d.mu.Lock()
	gone := d.gone
	d.mu.Unlock()
	if gone {
		return nil
	}
	d.hellos <- hello
	var rejected []negotiate.Rejected
	for _, b := range d.offers {
		d.mu.Lock()
		e, lie := d.rings[b], d.lie
		d.mu.Unlock()
		fds, dev, want := d.files(e)
		o := &negotiate.Offer{
			Protocol: negotiate.Current(), Session: d.session.String(), Backend: b, Rejected: rejected,
			Stream: d.info(e), Layout: layout(e.Layout()), Challenge: negotiate.NewChallenge(), Device: dev,
		}
		sent := slices.Clone(fds)
		if b == cuda && lie != nil {
			lie(o, sent)
		}
		err := conn.Send(&negotiate.Message{Type: negotiate.TypeOffer, Offer: o}, sent...)
		closeFiles(fds)
		if err != nil {
			return err
		}
		if m, _, err = conn.Receive(time.Time{}); err != nil {
			return err
		}
		d.answers <- m.Probe
		if !m.Probe.OK {
			rejected = append(rejected, negotiate.Rejected{Backend: b, Reason: m.Probe.Reason, Detail: m.Probe.Detail})
			continue
		}
		if b == negotiate.BackendSHM {
			want = e.Probe()
		}
		if !negotiate.CheckProof(o.Challenge, want, m.Probe.Proof) {
			d.t.Errorf("%s: the proof is wrong", b)
		}
		return d.subscribed(conn, b, e, hello.Credit)
	}
	return conn.Send(&negotiate.Message{Type: negotiate.TypeReject, Reject: &negotiate.Refusal{
		Reason: rejected[0].Reason, Text: "nothing is left", Rejected: rejected,
	}})
}

func (d *daemon) subscribed(conn *negotiate.Conn, b negotiate.Backend, e *epoch, credit int) error {
	rd, err := e.AddReader(credit, -1)
	if err != nil {
		return err
	}
	page, err := rd.PageFile()
	if err != nil {
		return err
	}
	wake, err := rd.WakeFile()
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.conn, d.taken, d.reader = conn, b, rd
	d.mu.Unlock()
	err = conn.Send(&negotiate.Message{Type: negotiate.TypeStart, Start: &negotiate.Start{Credit: credit}}, page, wake)
	closeFiles([]int{page, wake})
	if err != nil {
		return err
	}
	rd.Start()
	d.begun <- struct{}{}
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.reader.Remove()
	}()
	for {
		m, _, err := conn.Receive(time.Time{})
		if err != nil || m.Type == negotiate.TypeBye {
			return err
		}
		d.mu.Lock()
		switch m.Type {
		case negotiate.TypeKick:
			d.reader.Kick()
		case negotiate.TypeAck:
			d.reader.Start()
			d.acked <- struct{}{}
		}
		d.mu.Unlock()
	}
}

// reconfigure goes over to frames of another height, and returns when the
// subscriber has.
func (d *daemon) reconfigure(height int) {
	d.t.Helper()
	d.newRings(height)
	d.mu.Lock()
	e := d.rings[d.taken]
	d.reader.Remove()
	rd, err := e.AddReader(testCredit, -1)
	if err != nil {
		d.t.Fatal(err)
	}
	d.reader = rd
	fds, dev, _ := d.files(e)
	page, err := rd.PageFile()
	if err != nil {
		d.t.Fatal(err)
	}
	wake, err := rd.WakeFile()
	if err != nil {
		d.t.Fatal(err)
	}
	fds = append(fds, page, wake)
	err = d.conn.Send(&negotiate.Message{Type: negotiate.TypeReconfig, Reconfig: &negotiate.Reconfig{
		Stream: d.info(e), Layout: layout(e.Layout()), Device: dev,
	}}, fds...)
	closeFiles(fds)
	d.mu.Unlock()
	if err != nil {
		d.t.Fatal(err)
	}
	<-d.acked
}

// bounded ends long after a test that passes.
func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func (d *daemon) subscribe(dev *Device, opts ...client.Option) *Subscription {
	d.t.Helper()
	opts = append([]client.Option{client.WithRuntimeDir(d.dir), client.WithLogger(silent()), client.WithCredit(testCredit)}, opts...)
	s, err := dev.Subscribe(bounded(d.t), "test/color", opts...)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			d.t.Error(err)
		}
	})
	return s
}
