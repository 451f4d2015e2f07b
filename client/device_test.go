// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// reasoned is an error of an importer with a reason.
type reasoned struct{ reason negotiate.Reason }

func (e reasoned) Error() string            { return "in a test: " + string(e.reason) }
func (e reasoned) Reason() negotiate.Reason { return e.reason }

const fakeUUID = "GPU-00000000-0000-0000-0000-00000000cafe"

// fakeGPU imports memory files as if they were memory of a GPU.
type fakeGPU struct {
	importing error // of Import
	reading   error // of ReadAt
	pinning   error // of RegisterHost

	mu     sync.Mutex
	open   map[*fakeMemory]bool
	pinned int // registrations that are not ended
	pins   int // and all there ever were
}

func (g *fakeGPU) Hello(h *negotiate.Hello) {
	h.GPUs = []negotiate.GPU{{UUID: fakeUUID, Name: "fake"}}
	h.Handles, h.Driver = []negotiate.HandleKind{negotiate.HandleVMM}, 13000
}

func (g *fakeGPU) Import(d *negotiate.Device, fd int) (DeviceMemory, error) {
	if g.importing != nil {
		return nil, g.importing
	}
	data, err := linux.MapFile(fd, d.Bytes, false)
	if err != nil {
		return nil, err
	}
	m := &fakeMemory{gpu: g, data: data}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open = map[*fakeMemory]bool{}
	}
	g.open[m] = true
	return m, nil
}

func (g *fakeGPU) RegisterHost(memory []byte) (io.Closer, error) {
	if g.pinning != nil {
		return nil, g.pinning
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pinned++
	g.pins++
	return unpin{g, memory}, nil
}

type unpin struct {
	gpu    *fakeGPU
	memory []byte
}

// Close reads the memory: it must still be there.
func (u unpin) Close() error {
	_ = bytes.Count(u.memory, []byte{1})
	u.gpu.mu.Lock()
	defer u.gpu.mu.Unlock()
	u.gpu.pinned--
	return nil
}

func (g *fakeGPU) uses() (memories, pinned int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.open), g.pinned
}

type fakeMemory struct {
	gpu  *fakeGPU
	data []byte
}

func (m *fakeMemory) Name() string { return "fake" }
func (m *fakeMemory) Base() uint64 { return 0x7000_0000_0000 }
func (m *fakeMemory) ReadAt(dst []byte, offset int64) error {
	copy(dst, m.data[offset:])
	return m.gpu.reading
}

func (m *fakeMemory) Close() error {
	m.gpu.mu.Lock()
	defer m.gpu.mu.Unlock()
	if !m.gpu.open[m] {
		return errors.New("closed twice")
	}
	delete(m.gpu.open, m)
	return unix.Munmap(m.data)
}

// far is where the pixels of a ring are, and what the daemon says of it.
type far struct {
	memory *linux.Memory
	said   *negotiate.Device
}

// deviceRing replaces the ring by one with its pixels elsewhere: in the memory
// that is returned, with what the daemon says of it.
func (f *fake) deviceRing() *far {
	f.t.Helper()
	l := f.newRing(func(c *ring.Config) { c.Elsewhere = true }).Layout()
	d := &negotiate.Device{UUID: fakeUUID, Handle: negotiate.HandleVMM, ProbeOffset: l.PixelBytes, Bytes: l.PixelBytes + 4096}
	m, err := linux.NewMemory("camd-test-device", d.Bytes, false)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		f.stop() // who sends it may do so until then
		_ = m.Close()
	})
	copy(m.Data[d.ProbeOffset:], strings.Repeat("probe of device ", 2))
	return &far{m, d}
}

// publishTo publishes a frame whose pixels are far; its bytes are its number.
func (f *fake) publishTo(where *far) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	slot, err := f.ring.Acquire()
	if err != nil {
		f.t.Error(err)
		return 0
	}
	f.sequence++
	data := where.memory.Data[f.ring.Offset(slot):][:f.ring.Geometry().Size()]
	for i := range data {
		data[i] = byte(f.sequence)
	}
	f.ring.Publish(slot, &frame.Meta{Sequence: f.sequence, Bytes: len(data)})
	return f.sequence
}

// offerDevice offers the newest ring with its pixels far, and returns the
// client's answer and what would be the right one.
func (c *call) offerDevice(where *far) (got *negotiate.Probe, want string, err error) {
	hello, err := c.receive()
	if err != nil {
		return nil, "", err
	}
	c.hello, c.ring = hello.Hello, c.f.current()
	h, _, err := c.ring.Files()
	if err != nil {
		return nil, "", err
	}
	defer closeFiles(h)
	o := &negotiate.Offer{
		Protocol: negotiate.Current(), Session: c.f.session.String(), Backend: negotiate.BackendCUDA,
		Stream: c.info(), Layout: layoutOf(c.ring.Layout()), Challenge: "riddle", Device: where.said,
	}
	if err := c.send(&negotiate.Message{Type: negotiate.TypeOffer, Offer: o}, h, where.memory.FD); err != nil {
		return nil, "", err
	}
	got, err = c.probed()
	probe := append(c.ring.Probe(), where.memory.Data[where.said.ProbeOffset:][:negotiate.ProbeBytes]...)
	return got, negotiate.Proof(o.Challenge, probe), err
}

// wantDevice takes the next frame, which must be in memory of the GPU.
func wantDevice(t testing.TB, s *Subscription, g *fakeGPU, sequence uint64) Frame {
	t.Helper()
	f, err := s.Next(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	wholeDevice(t, f, g, sequence)
	return f
}

func wholeDevice(t testing.TB, f Frame, g *fakeGPU, sequence uint64) {
	t.Helper()
	ptr, n := f.Device()
	if f.Meta().Sequence != sequence || f.Data() != nil || n != f.Geometry().Size() || f.Valid() != nil {
		t.Fatalf("frame %d, %d bytes of data, %d on the device, %v", f.Meta().Sequence, len(f.Data()), n, f.Valid())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for m := range g.open {
		if bytes.Equal(m.data[ptr-m.Base():][:n], bytes.Repeat([]byte{byte(sequence)}, n)) {
			return
		}
	}
	t.Fatalf("no imported memory has frame %d at %#x", sequence, ptr)
}

func TestDeviceFrames(t *testing.T) {
	change := make(chan struct{})
	changed := sync.OnceFunc(func() { close(change) })
	defer changed()
	var there atomic.Pointer[far]
	f := newFake(t, func(c *call) error {
		got, want, err := c.offerDevice(there.Load())
		if err != nil {
			return err
		}
		if !got.OK || got.Proof != want {
			t.Errorf("the client answers %+v, want proof %s", got, want)
		}
		if h := c.hello; len(h.GPUs) != 1 || h.GPUs[0].UUID != fakeUUID || h.Driver != 13000 || h.DeviceReason != "" {
			t.Errorf("hello says %+v", h)
		}
		if err := c.start(); err != nil {
			return err
		}
		<-change
		if err := c.reconfig(func(r *negotiate.Reconfig, files []int) {
			r.Device, files[1] = there.Load().said, there.Load().memory.FD
		}); err != nil {
			return err
		}
		for {
			m, err := c.receive()
			if err != nil || m.Type == negotiate.TypeBye {
				return err
			}
			if m.Type == negotiate.TypeAck {
				c.reader.Start()
			}
		}
	})
	there.Store(f.deviceRing())
	g := &fakeGPU{}
	s := f.subscribed(WithDevice(g))
	if p := s.Path(); p.Backend != negotiate.BackendCUDA || p.GPU != fakeUUID || p.GPUName != "fake" || p.Over("x") != "futex, on fake "+fakeUUID {
		t.Errorf("path %+v", p)
	}
	seq := f.publishTo(there.Load())
	held := wantDevice(t, s, g, seq)
	there.Store(f.deviceRing()) // retires the old one
	changed()
	next := f.publishTo(there.Load())
	fresh := wantDevice(t, s, g, next)
	if n, _ := g.uses(); n != 2 {
		t.Errorf("%d memories are imported while a frame of the old one is held", n)
	}
	wholeDevice(t, held, g, seq)
	held.Release()
	if n, _ := g.uses(); n != 1 {
		t.Errorf("%d memories are imported when no frame of the old one is held", n)
	}
	if ptr, n := held.Device(); ptr != 0 || n != 0 {
		t.Error("a released frame is somewhere")
	}
	fresh.Release()
	if n := testing.AllocsPerRun(50, func() {
		wantDeviceQuick(t, s, f.publishTo(there.Load()))
	}); n > 0 {
		t.Errorf("%v allocations for a frame", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n, _ := g.uses(); n != 0 {
		t.Errorf("%d memories are imported after Close", n)
	}
}

func wantDeviceQuick(t testing.TB, s *Subscription, sequence uint64) {
	f, err := s.Next(context.Background())
	if ptr, n := f.Device(); err != nil || f.Meta().Sequence != sequence || ptr == 0 || n == 0 {
		t.Fatal(f.Meta(), err)
	}
	f.Release()
}

// A client that cannot use what is offered says why, and takes what comes next.
func TestDeviceRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		gpu    *fakeGPU
		change func(d *negotiate.Device)
		want   negotiate.Reason
	}{
		"no importer":     {nil, nil, negotiate.ReasonNotAccepted},
		"another GPU":     {&fakeGPU{importing: reasoned{negotiate.ReasonDifferentGPU}}, nil, negotiate.ReasonDifferentGPU},
		"no memory":       {&fakeGPU{importing: fmt.Errorf("wrapped: %w", reasoned{negotiate.ReasonLimit})}, nil, negotiate.ReasonLimit},
		"any error":       {&fakeGPU{importing: errors.New("no")}, nil, negotiate.ReasonProbeMismatch},
		"cannot be read":  {&fakeGPU{reading: reasoned{negotiate.ReasonGPULost}}, nil, negotiate.ReasonGPULost},
		"shorter than it": {&fakeGPU{}, func(d *negotiate.Device) { d.Bytes += 4096 }, negotiate.ReasonProbeMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			var there atomic.Pointer[far]
			answers := make(chan *negotiate.Probe, 1)
			f := newFake(t, func(c *call) error {
				p, _, err := c.offerDevice(there.Load())
				if err != nil {
					return err
				}
				answers <- p
				// As a daemon goes on: with the next backend, on the same socket.
				c.ring = c.f.newRing(nil)
				h, px, err := c.ring.Files()
				if err != nil {
					return err
				}
				defer closeFiles(h, px)
				o := &negotiate.Offer{
					Protocol: negotiate.Current(), Session: c.f.session.String(), Backend: negotiate.BackendSHM,
					Stream: c.info(), Layout: layoutOf(c.ring.Layout()), Challenge: "another riddle",
					Rejected: []negotiate.Rejected{{Backend: negotiate.BackendCUDA, Reason: p.Reason, Detail: p.Detail}},
				}
				if err := c.send(&negotiate.Message{Type: negotiate.TypeOffer, Offer: o}, h, px); err != nil {
					return err
				}
				if _, err := c.probed(); err != nil {
					return err
				}
				if err := c.start(); err != nil {
					return err
				}
				return c.serve()
			})
			where := f.deviceRing()
			if tc.change != nil {
				tc.change(where.said)
			}
			there.Store(where)
			opts := []Option{WithAccept(negotiate.BackendCUDA, negotiate.BackendSHM)}
			if tc.gpu != nil {
				opts = append(opts, WithDevice(tc.gpu))
			}
			s := f.subscribed(opts...)
			if p := <-answers; p.OK || p.Reason != tc.want || p.Detail == "" {
				t.Errorf("the client answers %+v, want %s", p, tc.want)
			}
			if p := s.Path(); p.Backend != negotiate.BackendSHM || p.GPU != "" || len(p.Rejected) != 1 || p.Rejected[0].Reason != tc.want {
				t.Errorf("path %+v", p)
			}
			fr := want(t, s, f.publish())
			if ptr, _ := fr.Device(); ptr != 0 {
				t.Errorf("at %#x", ptr)
			}
			fr.Release()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if tc.gpu == nil {
				return
			}
			if n, pinned := tc.gpu.uses(); n != 0 || pinned != 0 || tc.gpu.pins != 1 {
				t.Errorf("%d memories imported, %d of %d rings registered after Close", n, pinned, tc.gpu.pins)
			}
		})
	}
}

// A ring that cannot be registered is read all the same.
func TestRegistrationRefused(t *testing.T) {
	f := newFake(t, well)
	s := f.subscribed(WithDevice(&fakeGPU{pinning: errors.New("no")}))
	want(t, s, f.publish()).Release()
}

// A program without a GPU that accepts cuda says so; one that does not says
// nothing.
func TestHelloWithoutDevice(t *testing.T) {
	for _, accept := range []negotiate.Backend{negotiate.BackendCUDA, negotiate.BackendSHM} {
		hellos := make(chan *negotiate.Hello, 1)
		f := newFake(t, func(c *call) error {
			m, err := c.receive()
			if err == nil {
				hellos <- m.Hello
				err = c.send(refuseWith(negotiate.ReasonNoDriver))
			}
			return err
		})
		if _, err := f.subscribe(WithRequire(accept), WithAccept(accept)); !errors.Is(err, ErrNotAvailable) {
			t.Errorf("%s: %v", accept, err)
		}
		if h := <-hellos; (h.DeviceReason == negotiate.ReasonNoDriver) != (accept == negotiate.BackendCUDA) {
			t.Errorf("%s: hello says %+v", accept, h)
		}
	}
}

// A new epoch that is not what was agreed on ends the connection, nothing else.
func TestDeviceReconfigThatCannotBe(t *testing.T) {
	for name, edit := range map[string]func(r *negotiate.Reconfig, files []int, where *far){
		"no device": func(*negotiate.Reconfig, []int, *far) {},
		"a pipe":    func(r *negotiate.Reconfig, files []int, where *far) { r.Device, files[1] = where.said, files[2] },
		"another header": func(r *negotiate.Reconfig, files []int, where *far) {
			r.Device, files[0], files[1] = where.said, where.memory.FD, where.memory.FD
		},
	} {
		t.Run(name, func(t *testing.T) {
			var there atomic.Pointer[far]
			f := newFake(t, func(c *call) error {
				if _, _, err := c.offerDevice(there.Load()); err != nil {
					return err
				}
				if err := c.start(); err != nil {
					return err
				}
				if c.number == 1 {
					_ = c.reconfig(func(r *negotiate.Reconfig, files []int) {
						files[1] = there.Load().memory.FD
						edit(r, files, there.Load())
					})
				}
				return c.serve()
			})
			there.Store(f.deviceRing())
			g := &fakeGPU{}
			events := newTold()
			s := f.subscribed(WithDevice(g), eager, events.option())
			events.wait(t, EventDisconnected, "lost")
			events.wait(t, EventConnected, "by cuda (futex, on fake "+fakeUUID+")")
			wantDevice(t, s, g, f.publishTo(there.Load())).Release()
			if n, _ := g.uses(); n != 1 {
				t.Errorf("%d memories are imported", n)
			}
		})
	}
}
