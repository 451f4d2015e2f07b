// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"errors"

	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
	"github.com/seed-3c7e7623/camd/zenoh/transport"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

var (
	// ErrClosed reports that the session, or what was declared in it, is
	// closed.
	ErrClosed = errors.New("closed")
	// ErrNotConnected reports that there is no connection at the moment.
	ErrNotConnected = errors.New("not connected")
	// ErrUnreachable reports that no endpoint answered.
	ErrUnreachable = errors.New("no node reached")
	// ErrNoAnswer reports somebody who says nothing when we connect.
	ErrNoAnswer = transport.ErrNoAnswer
	// ErrListen reports that an endpoint to listen at cannot be had.
	ErrListen = errors.New("cannot listen")
	// ErrConfig reports settings that cannot be used.
	ErrConfig = errors.New("configuration")
	// ErrTimeout reports that answers did not come in time.
	ErrTimeout = errors.New("timeout")
	// ErrReplies reports replies that are more than a query may hold back.
	ErrReplies = errors.New("too many replies")
	// ErrBlocked reports a sample that found no room in its time.
	ErrBlocked = transport.ErrBlocked
	// ErrDropped reports a sample that was dropped because the queue is full.
	ErrDropped = transport.ErrDropped
	// ErrKeyExpr reports a string that is no key expression.
	ErrKeyExpr = keyexpr.ErrInvalid
)

type (
	// ZID identifies a session.
	ZID = wire.ZID
	// Timestamp is a time with the id of the clock that made it. The zero
	// value is no timestamp.
	Timestamp = wire.Timestamp
	// Encoding says how to read a payload. The zero value is zenoh/bytes.
	Encoding = wire.Encoding
	// SourceInfo says which entity made a sample, and its number there.
	SourceInfo = wire.SourceInfo
	// Role is what a node is: router, peer or client.
	Role = wire.WhatAmI
	// Stats counts what a connection did.
	Stats = transport.Stats
)

// ParseEncoding reads "name" or "name;schema". A schema has at most 255 bytes on
// the wire: more is cut off, here and where an Encoding is sent.
func ParseEncoding(s string) Encoding { return wire.ParseEncoding(s) }

// Priority orders what waits to be sent. The zero value is [PriorityData].
type Priority uint8

// The priorities, the most urgent first.
const (
	PriorityDefault Priority = iota
	PriorityRealTime
	PriorityInteractiveHigh
	PriorityInteractiveLow
	PriorityDataHigh
	PriorityData
	PriorityDataLow
	PriorityBackground
)

func (p Priority) wire() uint8 {
	if p == PriorityDefault || p > PriorityBackground {
		return uint8(PriorityData)
	}
	return uint8(p)
}

// CongestionControl says what becomes of a message that finds no room in the
// queue to the network.
type CongestionControl uint8

// The ways. The default is drop for samples, block for queries and replies.
const (
	CongestionDefault CongestionControl = iota
	// CongestionDrop keeps the newest sample of each key waiting; older ones
	// are dropped and counted.
	CongestionDrop
	// CongestionBlock makes the sender wait, for a bounded time.
	CongestionBlock
	// CongestionBlockFirst makes one sender wait and drops what others send
	// meanwhile.
	CongestionBlockFirst
)

func (c CongestionControl) or(d CongestionControl) CongestionControl {
	if c == CongestionDefault || c > CongestionBlockFirst {
		return d
	}
	return c
}

// Reliability says whether a sample may be lost on the way. The zero value is
// reliable.
type Reliability uint8

// The reliabilities.
const (
	Reliable Reliability = iota
	BestEffort
)

// Locality says whom samples reach, or come from: other sessions, this one, or
// any. The zero value is any.
type Locality uint8

// The localities.
const (
	LocalityAny Locality = iota
	LocalityRemote
	LocalitySession
)

func (l Locality) remote() bool { return l != LocalitySession }
func (l Locality) local() bool  { return l != LocalityRemote }

// QoS is how something is sent. The zero value is the default.
type QoS struct {
	Priority    Priority
	Congestion  CongestionControl
	Express     bool // do not wait for a batch to fill
	Reliability Reliability
}

func (q QoS) wire(d CongestionControl) wire.QoS {
	w := wire.QoS(q.Priority.wire())
	switch q.Congestion.or(d) {
	case CongestionBlock:
		w |= wire.QoSBlock
	case CongestionBlockFirst:
		w |= wire.QoSBlockFirst
	}
	if q.Express {
		w |= wire.QoSExpress
	}
	return w
}

func qosOf(w wire.QoS, reliable bool) QoS {
	q := QoS{Priority: Priority(w.Priority()), Congestion: CongestionDrop, Express: w&wire.QoSExpress != 0}
	switch {
	case w&wire.QoSBlock != 0:
		q.Congestion = CongestionBlock
	case w&wire.QoSBlockFirst != 0:
		q.Congestion = CongestionBlockFirst
	}
	if !reliable {
		q.Reliability = BestEffort
	}
	return q
}

func congestion(q wire.QoS, reliable bool) transport.Congestion {
	switch {
	case !reliable:
		return transport.Drop
	case q&wire.QoSBlock != 0:
		return transport.Block
	case q&wire.QoSBlockFirst != 0:
		return transport.BlockFirst
	}
	return transport.Drop
}

// Kind says whether a sample puts or deletes.
type Kind uint8

// The kinds.
const (
	Put Kind = iota
	Delete
)

func (k Kind) String() string {
	if k == Delete {
		return "DELETE"
	}
	return "PUT"
}
