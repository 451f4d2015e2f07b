// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// fake is a daemon made of a bare socket: it can say anything.
type fake struct {
	t       testing.TB
	dir     string
	offsets map[string]int64 // of shared memory
	calls   atomic.Int64
}

// newFake answers each connection with script, on its own goroutine.
func newFake(t testing.TB, script func(*call) error) *fake {
	t.Helper()
	f := &fake{t: t, dir: newDir(t), offsets: ringConstants(t)}
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: filepath.Join(f.dir, negotiate.SocketName), Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			socket, err := l.AcceptUnix()
			if err != nil {
				return
			}
			all.Go(func() {
				c := &call{fake: f, socket: socket, number: f.calls.Add(1)}
				defer c.close()
				if err := socket.SetDeadline(time.Now().Add(hung)); err != nil {
					t.Error(err)
				}
				if err := script(c); err != nil {
					t.Logf("the fake daemon: %v", err)
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return f
}

// call is one connection of a client.
type call struct {
	*fake
	socket *net.UnixConn
	number int64
	memory *ringMemory
}

func (c *call) close() {
	_ = c.socket.Close()
	if c.memory != nil {
		c.memory.close()
	}
}

func (c *call) raw(packet []byte, fds ...int) error {
	var control []byte
	if len(fds) > 0 {
		control = unix.UnixRights(fds...)
	}
	_, _, err := c.socket.WriteMsgUnix(packet, control, nil)
	return err
}

func (c *call) send(m *negotiate.Message, fds ...int) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return c.raw(b, fds...)
}

// receive expects a message of a type.
func (c *call) receive(want negotiate.Type) (*negotiate.Message, error) {
	b := make([]byte, negotiate.MaxPacket)
	n, err := c.socket.Read(b)
	if err != nil {
		return nil, err
	}
	var m negotiate.Message
	if err := json.Unmarshal(b[:n], &m); err != nil {
		return nil, fmt.Errorf("%w: %q", err, b[:n])
	}
	if err := m.Validate(); err != nil || m.Type != want {
		c.t.Errorf("the client said %s, want %s: %v", b[:n], want, err)
		return nil, errors.New("not what was expected")
	}
	return &m, nil
}

// ringMemory is a ring made by hand, without the package that the client must
// agree with: four slots of 64x16 pixels.
type ringMemory struct {
	offsets                    map[string]int64
	header, pixels, page, wake *linux.Memory
	layout                     negotiate.Layout
	stream                     negotiate.StreamInfo
	session                    string
}

const fakeSlots = 4

func newMemory(t testing.TB, offsets map[string]int64, epoch uint64) (*ringMemory, error) {
	g, err := frame.NewGeometry(frame.Mono8, 64, 16)
	if err != nil {
		return nil, err
	}
	r := &ringMemory{
		offsets: offsets, session: strings.Repeat("a7", 16),
		stream: negotiate.StreamInfo{Name: "test/color", Geometry: g, Epoch: epoch},
		layout: negotiate.Layout{
			Version: 1, Slots: fakeSlots, HeaderBytes: 4096, StrideBytes: 4096, PixelBytes: 4096 * fakeSlots, PageBytes: 4096, Epoch: epoch,
		},
	}
	for m, size := range map[**linux.Memory]int64{&r.header: 4096, &r.pixels: r.layout.PixelBytes, &r.page: 4096, &r.wake: 4096} {
		if *m, err = linux.NewMemory("camd-check", size, m != &r.page); err != nil {
			r.close()
			return nil, err
		}
	}
	h := r.header.Data
	copy(h[offsets["hdrMagic"]:], "CAMDRING")
	r.put32(h, "hdrVersion", 1)
	r.put32(h, "hdrRecords", uint32(offsets["recordStart"]))
	copy(h[offsets["hdrSession"]:], strings.Repeat("\xa7", 16))
	r.put64(h, "hdrEpoch", epoch)
	r.put32(h, "hdrSlots", fakeSlots)
	r.put32(h, "hdrRecord", uint32(offsets["recordBytes"]))
	r.put64(h, "hdrStride", uint64(r.layout.StrideBytes))
	r.put64(h, "hdrPixels", uint64(r.layout.PixelBytes))
	copy(h[offsets["hdrProbe"]:], "thirty-two bytes that are random")
	return r, nil
}

func (r *ringMemory) close() {
	for _, m := range []*linux.Memory{r.header, r.pixels, r.page, r.wake} {
		if m != nil {
			_ = m.Close()
		}
	}
}

func (r *ringMemory) put32(b []byte, name string, v uint32) {
	binary.NativeEndian.PutUint32(b[r.offsets[name]:], v)
}

func (r *ringMemory) put64(b []byte, name string, v uint64) {
	binary.NativeEndian.PutUint64(b[r.offsets[name]:], v)
}

func (r *ringMemory) get32(b []byte, name string) uint32 {
	return binary.NativeEndian.Uint32(b[r.offsets[name]:])
}

func (r *ringMemory) record(slot int) []byte {
	return r.header.Data[r.offsets["recordStart"]+int64(slot)*r.offsets["recordBytes"]:]
}

func (r *ringMemory) probe() []byte {
	return r.header.Data[r.offsets["hdrProbe"]:][:r.offsets["probeBytes"]]
}

// grant writes a frame of the pattern into a slot and its word into the mailbox.
func (r *ringMemory) grant(slot int, generation uint64) {
	rec, pixels := r.record(slot), r.pixels.Data[4096*slot:]
	for y := range 16 {
		binary.LittleEndian.PutUint64(pixels[64*y:], generation)
	}
	r.put64(rec, "recSequence", generation)
	r.put64(rec, "recDriverSeq", generation)
	r.put64(rec, "recBytes", 64*16)
	r.put32(rec, "recFlags", uint32(frame.Pattern))
	r.put64(rec, "recGeneration", generation)
	r.put64(r.page.Data, "pageMailbox", generation<<8|uint64(slot+1))
}

// offer answers a hello with a new ring. edit may make it lie.
func (c *call) offer(edit func(o *negotiate.Offer, fds []int)) error {
	if _, err := c.receive(negotiate.TypeHello); err != nil {
		return err
	}
	var err error
	if c.memory, err = newMemory(c.t, c.offsets, 1); err != nil {
		return err
	}
	m := c.memory
	o := &negotiate.Offer{
		Protocol: negotiate.Current(), Session: m.session, Backend: negotiate.BackendSHM, Stream: m.stream, Layout: m.layout,
		Challenge: negotiate.NewChallenge(),
	}
	fds := []int{m.header.FD, m.pixels.FD}
	if edit != nil {
		edit(o, fds)
	}
	if err := c.send(&negotiate.Message{Type: negotiate.TypeOffer, Offer: o}, fds...); err != nil {
		return err
	}
	p, err := c.receive(negotiate.TypeProbe)
	switch {
	case err != nil:
		return err
	case !p.Probe.OK:
		return c.send(&negotiate.Message{Type: negotiate.TypeReject, Reject: &negotiate.Refusal{
			Reason: negotiate.ReasonNotOffered, Text: "refused: " + string(p.Probe.Reason) + ": " + p.Probe.Detail,
		}})
	case !negotiate.CheckProof(o.Challenge, m.probe(), p.Probe.Proof):
		c.t.Error("the client proves nothing")
	}
	return nil
}

func (c *call) start(fds ...int) error {
	return c.send(&negotiate.Message{Type: negotiate.TypeStart, Start: &negotiate.Start{Credit: 2}}, fds...)
}

// subscribed is the whole hand-shake; before happens in front of its end.
func (c *call) subscribed(before func(m *ringMemory)) error {
	if err := c.offer(nil); err != nil {
		return err
	}
	if before != nil {
		before(c.memory)
	}
	return c.start(c.memory.page.FD, c.memory.wake.FD)
}

// hungUp waits until the client closes its end, whatever it says before.
func (c *call) hungUp() {
	b := make([]byte, 4096)
	for {
		if n, err := c.socket.Read(b); err != nil || n == 0 {
			return
		}
	}
}
