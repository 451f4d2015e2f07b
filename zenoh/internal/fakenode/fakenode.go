// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package fakenode is a node for tests that does what real ones never do: it
// stops reading, says nothing, skips numbers, and sends whatever a test wants.
package fakenode

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// Listener waits for sessions.
type Listener struct {
	net.Listener
	Init wire.Init // what INIT answers; batch size 0: what was offered
	Open wire.Open // what OPEN answers
}

// Listen listens on loopback, as a router with priorities.
func Listen() (*Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return On(l)
}

// On is a router with priorities at a listener.
func On(l net.Listener) (*Listener, error) {
	return &Listener{
		Listener: l,
		Init: wire.Init{
			Ack: true, Version: wire.Version, ZID: wire.ZID{0xFA, 0x4E}, Resolution: wire.DefaultResolution,
			Cookie: []byte("cookie"), QoS: true, Patch: 1,
		},
		Open: wire.Open{Ack: true, LeaseMillis: 10_000, InitialSN: 7},
	}, nil
}

// Endpoint is where to connect.
func (l *Listener) Endpoint() string { return "tcp/" + l.Addr().String() }

// Node is one connection.
type Node struct {
	net.Conn
	r      *bufio.Reader
	Own    wire.ZID  // of the node, where it dialled
	Init   wire.Init // the other side's
	Open   wire.Open
	SN     [8][2]uint64 // our next, by priority and reliability
	Mask   uint64
	buf    []byte
	frames [8][2][]byte // pieces of messages
}

// Accept takes a connection and shakes hands.
func (l *Listener) Accept() (*Node, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	n := &Node{Conn: c, r: bufio.NewReaderSize(c, 4096)}
	if err := n.shake(l.Init, l.Open); err != nil {
		_ = c.Close()
		return nil, err
	}
	return n, nil
}

func (n *Node) shake(init wire.Init, open wire.Open) error {
	b, err := n.Batch()
	if err != nil {
		return err
	}
	if err := n.Init.Decode(wire.NewReader(b)); err != nil {
		return err
	}
	if init.BatchSize == 0 {
		init.BatchSize = n.Init.BatchSize
	}
	init.Resolution = min(init.Resolution&3, n.Init.Resolution&3) | 2<<2
	init.QoS = init.QoS && n.Init.QoS
	n.Mask = wire.SNMask(init.Resolution)
	if err := n.Send(init.Append(nil)); err != nil {
		return err
	}
	if b, err = n.Batch(); err != nil {
		return err
	}
	if err := n.Open.Decode(wire.NewReader(b)); err != nil {
		return err
	}
	if string(n.Open.Cookie) != string(init.Cookie) {
		return fmt.Errorf("cookie %q came back as %q", init.Cookie, n.Open.Cookie)
	}
	for p := range n.SN {
		n.SN[p] = [2]uint64{open.InitialSN, open.InitialSN}
	}
	return n.Send(open.Append(nil))
}

// Dial connects to a session and shakes hands as what init says.
func Dial(address string, init wire.Init) (*Node, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	n := &Node{Conn: c, r: bufio.NewReaderSize(c, 4096), Own: init.ZID}
	if err := n.dial(init); err != nil {
		_ = c.Close()
		return nil, err
	}
	return n, nil
}

func (n *Node) dial(init wire.Init) error {
	init.Version, init.Resolution, init.BatchSize, init.QoS, init.Patch = wire.Version, wire.DefaultResolution, 65535, true, 1
	if err := n.Send(init.Append(nil)); err != nil {
		return err
	}
	b, err := n.Batch()
	if err != nil {
		return err
	}
	if err := n.Init.Decode(wire.NewReader(b)); err != nil {
		return err
	}
	n.Mask = wire.SNMask(n.Init.Resolution)
	if err := n.Send((&wire.Open{LeaseMillis: 10_000, InitialSN: 7, Cookie: n.Init.Cookie}).Append(nil)); err != nil {
		return err
	}
	if b, err = n.Batch(); err != nil {
		return err
	}
	for p := range n.SN {
		n.SN[p] = [2]uint64{7, 7}
	}
	return n.Open.Decode(wire.NewReader(b))
}

// Batch reads the next batch, which is valid until the one after.
func (n *Node) Batch() ([]byte, error) {
	var head [2]byte
	if _, err := io.ReadFull(n.r, head[:]); err != nil {
		return nil, err
	}
	size := int(binary.LittleEndian.Uint16(head[:]))
	if cap(n.buf) < size {
		n.buf = make([]byte, 65536)
	}
	n.buf = n.buf[:size]
	_, err := io.ReadFull(n.r, n.buf)
	return n.buf, err
}

// Size is the bytes of the last batch.
func (n *Node) Size() int { return len(n.buf) }

// Send writes a batch with its length.
func (n *Node) Send(b []byte) error {
	_, err := n.Write(append(binary.LittleEndian.AppendUint16(nil, uint16(len(b))), b...))
	return err
}

// Appender is a message.
type Appender interface{ Append(b []byte) []byte }

// Frame makes a frame of reliable messages in a priority.
func (n *Node) Frame(priority uint8, messages ...Appender) []byte {
	f := wire.Frame{Reliable: true, SN: n.SN[priority][1], Priority: priority}
	n.SN[priority][1] = (f.SN + 1) & n.Mask
	b := f.Append(nil)
	for _, m := range messages {
		b = m.Append(b)
	}
	return b
}

// Tell sends reliable messages in the priority of data.
func (n *Node) Tell(messages ...Appender) error { return n.Send(n.Frame(5, messages...)) }

// Fragment makes a piece of a reliable message in the priority of data.
func (n *Node) Fragment(first, more bool, piece []byte) []byte {
	f := wire.Frame{Fragment: true, Reliable: true, SN: n.SN[5][1], Priority: 5, First: first, More: more}
	n.SN[5][1] = (f.SN + 1) & n.Mask
	return append(f.Append(nil), piece...)
}

// Got is something that arrived.
type Got struct {
	Frame     wire.Frame
	KeepAlive bool
	Close     bool
	Messages  []wire.Message // whole ones that this batch ended
}

// Next reads a batch and takes it apart. Messages are valid until the next.
func (n *Node) Next() (g Got, err error) {
	b, err := n.Batch()
	if err != nil {
		return g, err
	}
	r := wire.NewReader(b)
	h, _ := r.Peek()
	switch wire.ID(h) {
	case wire.IDKeepAlive:
		g.KeepAlive = true
		return g, nil
	case wire.IDClose:
		g.Close = true
		return g, nil
	}
	if err := g.Frame.Decode(r); err != nil {
		return g, err
	}
	i := 0
	if g.Frame.Reliable {
		i = 1
	}
	if g.Frame.Fragment {
		part := &n.frames[g.Frame.Priority][i]
		if g.Frame.First {
			*part = nil
		}
		*part = append(*part, r.Rest()...)
		if g.Frame.More {
			return g, nil
		}
		r = wire.NewReader(*part)
		*part = nil
	}
	for r.Len() > 0 {
		var m wire.Message
		if err := m.Decode(r); err != nil {
			return g, err
		}
		g.Messages = append(g.Messages, m)
	}
	return g, nil
}
