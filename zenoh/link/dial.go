// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"
)

// Options are the settings of [Dial] and [Listen].
type Options struct {
	// TLS is used by tls endpoints; nil: the public roots, no own certificate.
	TLS *TLS
	// NotSentBytes bounds what waits unsent in the kernel (TCP_NOTSENT_LOWAT);
	// 0: no bound.
	NotSentBytes int
	// MaxBatch bounds [Conn.MTU]; 0: 65535.
	MaxBatch int
}

const maxBatch = 65535

// Dial connects. ctx bounds it.
func Dial(ctx context.Context, e Endpoint, o *Options) (*Conn, error) {
	if o == nil {
		o = &Options{}
	}
	network := "tcp"
	if e.Proto == "unixsock-stream" {
		network = "unix"
	}
	d := net.Dialer{KeepAliveConfig: keepAlive}
	nc, err := d.DialContext(ctx, network, e.Address)
	if err != nil {
		return nil, err
	}
	c, err := wrap(nc, o)
	if err == nil && e.Proto == "tls" {
		var conf *tls.Config
		if conf, err = o.TLS.config(e); err == nil {
			err = c.secure(ctx, tls.Client(&c.sock, conf))
		}
	}
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	return c, nil
}

var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// wrap makes a link of a connection.
func wrap(nc net.Conn, o *Options) (*Conn, error) {
	c := &Conn{MTU: maxBatch}
	if t, ok := nc.(*net.TCPConn); ok {
		if err := t.SetNoDelay(true); err != nil {
			return nil, err
		}
		if o.NotSentBytes > 0 {
			if err := setLowat(t, o.NotSentBytes); err != nil {
				return nil, err
			}
		}
		c.MTU = tcpMTU(t)
	}
	if o.MaxBatch > 0 {
		c.MTU = min(c.MTU, o.MaxBatch)
	}
	if err := c.sock.open(nc); err != nil {
		return nil, err
	}
	c.top, c.vectored = nc, true
	return c, nil
}

// secure puts TLS between the bytes and the socket.
func (c *Conn) secure(ctx context.Context, t *tls.Conn) error {
	if err := t.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	c.top, c.vectored = t, false
	return nil
}

// tcpMTU is a whole number of half segments below the largest batch, which
// fills the segments of a busy link.
func tcpMTU(t *net.TCPConn) int {
	half := mss(t) / 2
	limit := maxBatch - 40
	if a, ok := t.RemoteAddr().(*net.TCPAddr); ok && a.IP.To4() == nil {
		limit = maxBatch - 60
	}
	if half <= 0 || half > limit {
		return limit
	}
	return limit / half * half
}
