// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture/pace"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// tcpHead is before each payload: number and ready, little-endian.
const tcpHead = 16

// publishFloorTCP sends payloads to the one who connects, until ctx is done.
// ready is called with the address.
func publishFloorTCP(ctx context.Context, size int, spacing time.Duration, ready func(string)) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	ready(l.Addr().String())
	conn, err := l.Accept()
	_ = l.Close()
	if err != nil {
		return errors.Join(ctx.Err(), err)
	}
	defer conn.Close()
	end := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer end()

	head, payload, fill := make([]byte, tcpHead), make([]byte, size), newFiller()
	parts := make(net.Buffers, 2)
	for number := uint64(1); ; number++ {
		fill.fill(payload)
		binary.LittleEndian.PutUint64(head, number)
		binary.LittleEndian.PutUint64(head[8:], uint64(linux.Monotonic()))
		rest := append(parts[:0], head, payload)
		_, err := rest.WriteTo(conn)
		if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
			return nil // its reader has what it wants
		}
		if err != nil {
			return errors.Join(ctx.Err(), err)
		}
		if err := pace.Until(ctx, linux.Monotonic()+int64(spacing)); err != nil {
			return err
		}
	}
}

// openFloorTCP connects and reads each payload into the same buffer.
func openFloorTCP(ctx context.Context, address string, size int) (Subscription, error) {
	g, err := PayloadGeometry(size)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect to the floor: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	buffer := make([]byte, tcpHead+size)
	r := &floorReader{backend: FloorTCP, frame: floorFrame{geometry: g, data: buffer[tcpHead:]}}
	r.close = func() error {
		stop()
		return conn.Close()
	}
	r.next = func(ctx context.Context, f *floorFrame) error {
		if _, err := io.ReadFull(conn, buffer); err != nil {
			return errors.Join(ctx.Err(), err)
		}
		f.held = linux.Monotonic()
		number := binary.LittleEndian.Uint64(buffer)
		f.meta.Sequence, f.meta.DriverSequence = number, number
		f.meta.ReadyNanos, f.meta.Bytes = int64(binary.LittleEndian.Uint64(buffer[8:])), size
		return nil
	}
	return r, nil
}
