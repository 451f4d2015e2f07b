// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

// What a plain socket carries has the shape of what camd writes: pieces as large
// as Zenoh's batches, each with a head, all of a frame in one call of writev.
const (
	headBytes  = 8
	pieceBytes = 65535 - headBytes
	// readBytes is the most that a read takes.
	readBytes = 1 << 20
)

// pieces lays a frame out. Its heads say how long a piece is.
func pieces(frame []byte) (bufs net.Buffers, bytes int) {
	for at := 0; at < len(frame); at += pieceBytes {
		piece := frame[at:min(at+pieceBytes, len(frame))]
		head := make([]byte, headBytes)
		binary.LittleEndian.PutUint64(head, uint64(len(piece)))
		bufs = append(bufs, head, piece)
		bytes += headBytes + len(piece)
	}
	return bufs, bytes
}

// publishSocket sends to the one who connects.
func publishSocket(ctx context.Context, j job) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", j.Address)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	fmt.Println("ready")
	conn, err := l.Accept()
	if err != nil {
		return errors.Join(ctx.Err(), err)
	}
	defer conn.Close()
	frame, f := make([]byte, j.Size), newFiller()
	f.fill(frame)
	all, _ := pieces(frame)
	rest := make(net.Buffers, len(all))
	p := newPublisher(func(number uint64, fill bool) error {
		if fill {
			f.fill(frame)
		}
		stamp(frame, number)
		copy(rest, all)
		v := rest
		_, err := v.WriteTo(conn)
		return err
	}, []int{3})
	return serve(ctx, p.alone)
}

// receiveSocket reads each frame into the same memory, in the places of its
// pieces, with as few reads as go.
func receiveSocket(ctx context.Context, j job) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", j.Address)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	_, bytes := pieces(make([]byte, j.Size))
	buf := make([]byte, bytes)
	out, scratch := os.NewFile(3, "records"), make([]byte, recordBytes)
	fmt.Println("ready")
	for {
		for at := 0; at < bytes; {
			n, err := conn.Read(buf[at:min(at+readBytes, bytes)])
			if err != nil {
				return ended(ctx, err)
			}
			at += n
		}
		if err := tell(out, scratch, buf[headBytes:], linux.Monotonic()); err != nil {
			return ended(ctx, err)
		}
	}
}

// relay passes what it reads on, through one piece of memory.
func relay(ctx context.Context, j job) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", j.Address)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	fmt.Println("ready")
	to, err := l.Accept()
	if err != nil {
		return errors.Join(ctx.Err(), err)
	}
	defer to.Close()
	from, err := new(net.Dialer).DialContext(ctx, "tcp", j.Next)
	if err != nil {
		return err
	}
	defer from.Close()
	end := context.AfterFunc(ctx, func() { _ = from.Close() })
	defer end()
	// Not io.Copy, for which the kernel moves pages: a router looks at what it
	// passes on.
	buf := make([]byte, 256<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return ended(ctx, err)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return ended(ctx, err)
		}
	}
}
