// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

// publishSocket writes each payload to the one who connects, with one call.
// Payloads all have one size, so that there is no head.
func publishSocket(network string) func(context.Context, *publication) error {
	return func(ctx context.Context, p *publication) error {
		l, err := new(net.ListenConfig).Listen(ctx, network, p.Address)
		if err != nil {
			return err
		}
		stop := context.AfterFunc(ctx, func() { _ = l.Close() })
		defer stop()
		p.ready()
		conn, err := l.Accept()
		_ = l.Close()
		if err != nil {
			return errors.Join(ctx.Err(), err)
		}
		defer conn.Close()
		payload := make([]byte, p.Size)
		return p.each(ctx, func() (int64, error) {
			p.fill(payload)
			stamp := putStamp(payload)
			_, err := conn.Write(payload)
			return stamp, err
		})
	}
}

// subscribeSocket reads each payload into the same buffer.
func subscribeSocket(network string) func(context.Context, *reception) error {
	return func(ctx context.Context, r *reception) error {
		conn, err := new(net.Dialer).DialContext(ctx, network, r.Address)
		if err != nil {
			return err
		}
		defer conn.Close()
		payload := make([]byte, r.Size)
		for {
			if _, err := io.ReadFull(conn, payload); err != nil {
				return err
			}
			done, err := r.take(payload, linux.Monotonic())
			if done || err != nil {
				return err
			}
		}
	}
}
