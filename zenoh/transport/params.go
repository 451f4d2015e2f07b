// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package transport keeps one connection to a Zenoh node: the handshake, the
// queues with their priorities, batches and fragments, keep-alive and lease.
// It carries encoded network messages and knows not what they mean.
package transport

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

var (
	// ErrClosed reports that the connection has ended.
	ErrClosed = errors.New("connection closed")
	// ErrRefused reports that the other side closed during the handshake.
	ErrRefused = errors.New("refused by the other side")
	// ErrNoAnswer reports that the other side was silent in the handshake until
	// there was no more time.
	ErrNoAnswer = errors.New("no answer from the other side")
	// ErrExpired reports that nothing arrived for the lease of the other side.
	ErrExpired = errors.New("lease expired")
	// ErrUnresponsive reports that the other side takes no bytes.
	ErrUnresponsive = errors.New("the other side takes no bytes")
	// ErrProtocol reports bytes that no node may send.
	ErrProtocol = errors.New("protocol violated")
	// ErrBlocked reports a message that found no room in its time.
	ErrBlocked = errors.New("no room in the queue in time")
	// ErrDropped reports a message that was dropped because its queue is full.
	ErrDropped = errors.New("dropped, queue full")
	// ErrBehind reports a connection that is so far behind, with so many others,
	// that there is no room for what it has still to get.
	ErrBehind = errors.New("too far behind")
	// ErrTooLarge reports a message above the limit.
	ErrTooLarge = errors.New("message too large")
)

// Params are the settings of a connection. [Defaults] fills in Zenoh's values.
type Params struct {
	ZID        wire.ZID
	WhatAmI    wire.WhatAmI
	Resolution byte
	QoS        bool
	// BatchSize is the most bytes of a batch and its length, up to 65535.
	BatchSize int
	// Lease is what we promise: to send at least that often, and what the
	// other side's writes may take.
	Lease time.Duration
	// KeepAlive is how many times a lease a message is sent when idle.
	KeepAlive int
	// User and Password authenticate us; no user: no authentication.
	User, Password string
	// Users are the passwords of those who may connect to us, by name; nil:
	// anybody may.
	Users map[string]string
	// Admit is asked once it is known who is there, before a connection counts
	// as open: on the side that dialled before OPEN is sent, on the other before
	// that is acknowledged. Its error, best a [Refusal], breaks off. nil: all
	// are admitted.
	Admit func(ctx context.Context, o Other) error

	// QueueBatches is how many batches of messages may wait in each priority
	// before block blocks, and before drop keeps only the newest of each key.
	QueueBatches [8]int
	// QueueBytes bounds what waits in all priorities. One message is always
	// taken.
	QueueBytes int
	// WaitBeforeDrop is how long the kernel may refuse bytes before drop keeps
	// only the newest of each key.
	WaitBeforeDrop time.Duration
	// WaitBeforeClose is how long a message that must not be dropped may wait
	// for room. When nothing moved in that time the connection is closed.
	WaitBeforeClose time.Duration
	// Batching puts several messages in a batch.
	Batching bool
	// FlushPeriod holds a batch that is not full for so long, unless a message
	// is express. 0: not at all.
	FlushPeriod time.Duration

	// ReadBytes is the most that is read ahead.
	ReadBytes int
	// MaxMessage bounds a message that arrives in fragments, and all those
	// that are incomplete together.
	MaxMessage int
	// Budget bounds the same of all connections that share it; nil: each is
	// bounded by itself.
	Budget *Budget
}

// Defaults are the settings of a client.
func Defaults() Params {
	p := Params{
		WhatAmI: wire.Client, Resolution: wire.DefaultResolution, QoS: true, BatchSize: 65535,
		Lease: 10 * time.Second, KeepAlive: 4,
		QueueBytes: 256 << 20, WaitBeforeDrop: time.Millisecond, WaitBeforeClose: 5 * time.Second,
		Batching: true, ReadBytes: 1 << 20, MaxMessage: 1 << 30,
	}
	for i := range p.QueueBatches {
		p.QueueBatches[i] = 2
	}
	return p
}

// Validate fails when the settings cannot be used.
func (p *Params) Validate() error {
	switch {
	case p.ZID.IsZero():
		return errors.New("zid is not set")
	case p.BatchSize < 64 || p.BatchSize > 65535:
		return fmt.Errorf("batch size %d is not in 64 to 65535", p.BatchSize)
	case p.Lease < 100*time.Millisecond || p.KeepAlive < 1:
		return fmt.Errorf("lease %v with %d keep-alives: at least 100 ms and 1", p.Lease, p.KeepAlive)
	case p.ReadBytes < 2+65535:
		p.ReadBytes = 2 + 65535
	}
	return nil
}
