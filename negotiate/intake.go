// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"fmt"
	"time"
)

// MaxRequest is the largest packet in bytes that a daemon accepts: what clients
// say is short, and anyone may connect. Clients accept [MaxPacket].
const MaxRequest = 8 << 10

// MaxUnknown is how many messages of types that it does not know a daemon passes
// over on one connection. A client of a higher minor version sends few of them.
const MaxUnknown = 16

// A daemon that is sent more packets than this stops reading for the rest of
// the window: 10,000 a second. A reader that gives every frame back by itself
// needs two a frame.
const (
	paceWindow  = 10 * time.Millisecond
	pacePackets = 100
)

// side is what one end of a connection takes in.
type side struct {
	files   int  // descriptors with a packet
	receive int  // bytes of a packet received
	send    int  // bytes of a packet sent: what the other side accepts
	unknown int  // messages of unknown types, -1 = any number
	packets int  // packets in one window, 0 = any number
	server  bool // the other side is a daemon
}

var (
	clientSide = side{files: MaxFiles, receive: MaxPacket, send: MaxRequest, unknown: -1, server: true}
	daemonSide = side{receive: MaxRequest, send: MaxPacket, unknown: MaxUnknown, packets: pacePackets}
)

// pacer bounds the packets of one peer. It holds a flood back, in the peer's own
// queue, and costs nobody the connection.
type pacer struct {
	began time.Time // of the window
	n     int       // packets in it
}

// take counts a packet that is about to be received and returns how long to
// leave it where it is.
func (p *pacer) take(now time.Time, most int) time.Duration {
	if since := now.Sub(p.began); since < 0 || since >= paceWindow {
		p.began, p.n = now, 1
		return 0
	}
	if p.n++; p.n <= most {
		return 0
	}
	left := paceWindow - now.Sub(p.began)
	p.began, p.n = now.Add(left), 1
	return left
}

// hold waits while the peer has sent too much, or until the connection closes.
func (c *Conn) hold() {
	if c.side.packets == 0 {
		return
	}
	left := c.pace.take(time.Now(), c.side.packets)
	if left <= 0 {
		return
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.closed:
	}
}

// judge counts messages of unknown types. It fails with [ErrProtocol].
func (c *Conn) judge(m *Message) error {
	if m.Type.Known() || c.side.unknown < 0 {
		return nil
	}
	if c.unknown++; c.unknown > c.side.unknown {
		return fmt.Errorf("%w: more than %d messages of unknown types, the last %.64q", ErrProtocol, c.side.unknown, m.Type)
	}
	return nil
}
