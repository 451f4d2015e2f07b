// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"net"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// call is one connection, seen from the daemon.
type call struct {
	f      *fake
	number int64 // from 1
	socket *net.UnixConn
	ring   *ring.Ring
	reader *ring.Reader
	pipe   [2]int
	hello  *negotiate.Hello
}

// raw sends any packet with any files.
func (c *call) raw(packet []byte, files ...int) error {
	var control []byte
	if len(files) > 0 {
		control = unix.UnixRights(files...)
	}
	_, _, err := c.socket.WriteMsgUnix(packet, control, nil)
	return err
}

func (c *call) send(m *negotiate.Message, files ...int) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return c.raw(b, files...)
}

func (c *call) receive() (*negotiate.Message, error) {
	b := make([]byte, negotiate.MaxPacket)
	n, err := c.socket.Read(b)
	if err != nil {
		return nil, err
	}
	m := new(negotiate.Message)
	return m, json.Unmarshal(b[:n], m)
}

func layoutOf(l ring.Layout) negotiate.Layout {
	return negotiate.Layout{
		Version: ring.Version, Slots: l.Slots, HeaderBytes: l.HeaderBytes, StrideBytes: l.StrideBytes,
		PixelBytes: l.PixelBytes, PageBytes: l.PageBytes, Epoch: l.Epoch,
	}
}

// fakeColor is what a fake says of its stream.
var fakeColor = frame.Color{Matrix: frame.BT709, Range: frame.Limited}

func (c *call) info() negotiate.StreamInfo {
	return negotiate.StreamInfo{
		Name: "test/color", Camera: "test", State: "running", Geometry: c.ring.Geometry(), Epoch: c.ring.Epoch(), Color: fakeColor,
	}
}

// offer answers the hello as a good daemon does, except for what edit changes.
func (c *call) offer(edit func(o *negotiate.Offer, files []int)) error {
	m, err := c.receive()
	if err != nil {
		return err
	}
	c.hello, c.ring = m.Hello, c.f.current()
	o := &negotiate.Offer{
		Protocol: negotiate.Current(), Session: c.f.session.String(), Backend: negotiate.BackendSHM,
		Stream: c.info(), Layout: layoutOf(c.ring.Layout()), Challenge: "riddle",
	}
	h, p, err := c.ring.Files()
	if err != nil {
		return err
	}
	files := []int{h, p}
	defer closeFiles(h, p)
	if edit != nil {
		edit(o, files)
	}
	if len(o.Challenge) == 0 { // edit wants no files
		o.Challenge, files = "riddle", nil
	}
	return c.send(&negotiate.Message{Type: negotiate.TypeOffer, Offer: o}, files...)
}

func closeFiles(files ...int) {
	for _, fd := range files {
		_ = unix.Close(fd)
	}
}

// probed is the client's answer to the offer.
func (c *call) probed() (*negotiate.Probe, error) {
	m, err := c.receive()
	if err != nil {
		return nil, err
	}
	return m.Probe, nil
}

// start begins the subscription.
func (c *call) start() error {
	c.pipe = [2]int{-1, -1}
	end := -1
	if c.hello.Wake == negotiate.WakePipe {
		if err := unix.Pipe2(c.pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
			return err
		}
		end = c.pipe[1]
	}
	var err error
	if c.reader, err = c.ring.AddReader(c.hello.Credit, end); err != nil {
		return err
	}
	page, err := c.reader.PageFile()
	if err != nil {
		return err
	}
	wake, err := c.reader.WakeFile()
	if err != nil {
		closeFiles(page)
		return err
	}
	files := []int{page, wake}
	if end >= 0 {
		files = append(files, c.pipe[0])
	}
	defer closeFiles(files...)
	m := &negotiate.Start{Reader: c.reader.ID(), Credit: c.hello.Credit}
	if err := c.send(&negotiate.Message{Type: negotiate.TypeStart, Start: m}, files...); err != nil {
		return err
	}
	c.reader.Start()
	return nil
}

// join is the hand-shake of a good daemon.
func (c *call) join() error {
	if err := c.offer(nil); err != nil {
		return err
	}
	if _, err := c.probed(); err != nil {
		return err
	}
	return c.start()
}

// serve is a good daemon's part of a running subscription.
func (c *call) serve() error {
	defer func() { c.reader.Remove() }()
	for {
		m, err := c.receive()
		if err != nil || m.Type == negotiate.TypeBye {
			return err
		}
		if m.Type == negotiate.TypeKick {
			c.reader.Kick()
		}
	}
}

// well is the script of a good daemon.
func well(c *call) error {
	if err := c.join(); err != nil {
		return err
	}
	return c.serve()
}

// reconfig announces the newest ring, with a reader in it.
func (c *call) reconfig(edit func(r *negotiate.Reconfig, files []int)) error {
	c.reader.Remove()
	c.ring = c.f.current()
	rd, err := c.ring.AddReader(c.hello.Credit, -1)
	if err != nil {
		return err
	}
	c.reader = rd
	h, p, err := c.ring.Files()
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
	files := []int{h, p, page, wake}
	defer closeFiles(h, p, page, wake)
	m := &negotiate.Reconfig{Stream: c.info(), Layout: layoutOf(c.ring.Layout()), Reader: rd.ID()}
	if edit != nil {
		edit(m, files)
	}
	return c.send(&negotiate.Message{Type: negotiate.TypeReconfig, Reconfig: m}, files...)
}
