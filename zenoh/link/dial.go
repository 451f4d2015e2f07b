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

// Options are the settings of [Dial].
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
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
	nc, err := d.DialContext(ctx, network, e.Address)
	if err != nil {
		return nil, err
	}
	c, err := wrap(ctx, nc, e, o)
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	return c, nil
}

func wrap(ctx context.Context, nc net.Conn, e Endpoint, o *Options) (*Conn, error) {
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
	if e.Proto != "tls" {
		c.top, c.vectored = nc, true
		return c, nil
	}
	conf, err := o.TLS.config(e)
	if err != nil {
		return nil, err
	}
	t := tls.Client(&c.sock, conf)
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	c.top = t
	return c, nil
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
