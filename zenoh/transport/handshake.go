// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// session is what both sides agreed on.
type session struct {
	remote      wire.ZID
	remoteRole  wire.WhatAmI
	batch       int // of a batch and its length
	mask        uint64
	qos         bool
	patch       bool
	sn          uint64 // our first
	remoteSN    uint64
	remoteLease time.Duration
}

// handshake opens as the side that dialled. ctx bounds it.
func handshake(ctx context.Context, c *link.Conn, p *Params) (s session, err error) {
	defer bound(ctx, c, &err)()
	offer := wire.Init{
		Version: wire.Version, WhatAmI: p.WhatAmI, ZID: p.ZID, Resolution: p.Resolution,
		BatchSize: uint16(min(p.BatchSize, c.MTU)), QoS: p.QoS, Patch: 1,
	}
	if p.User != "" {
		offer.Auth = []byte{authOffer}
	}
	if err := writeBatch(c, offer.Append(nil)); err != nil {
		return s, err
	}
	var got wire.Init
	if err := readOne(c, &got); err != nil {
		return s, fmt.Errorf("INIT: %w", err)
	}
	if err := s.accept(&offer, &got); err != nil {
		reason := wire.Invalid
		if errors.Is(err, errSelf) {
			reason = wire.ConnectionToSelf
		}
		refuse(c, reason)
		return s, err
	}
	open := wire.Open{LeaseMillis: uint64(p.Lease / time.Millisecond), Cookie: got.Cookie}
	open.InitialSN = firstSN(p, s.mask)
	s.sn = open.InitialSN
	if p.Admit != nil {
		if err := p.Admit(ctx, Other{ZID: s.remote, Role: s.remoteRole, Ours: isOurs(&got)}); err != nil {
			return s, turnAway(c, err)
		}
	}
	if p.User != "" {
		if open.Auth, err = authAnswer(got.Auth, p.User, p.Password); err != nil {
			refuse(c, wire.Generic)
			return s, err
		}
	}
	if err := writeBatch(c, open.Append(nil)); err != nil {
		return s, err
	}
	var ack wire.Open
	if err := readOne(c, &ack); err != nil {
		return s, fmt.Errorf("OPEN: %w", err)
	}
	if !ack.Ack || ack.InitialSN > s.mask {
		refuse(c, wire.Invalid)
		return s, fmt.Errorf("%w: acknowledgement of OPEN with first number %d of at most %d", ErrProtocol, ack.InitialSN, s.mask)
	}
	s.remoteSN = ack.InitialSN
	s.remoteLease = leaseOf(&ack)
	return s, nil
}

// RemoteLease is what the other side promised: to send at least that often.
func (t *Transport) RemoteLease() time.Duration { return t.s.remoteLease }

var errSelf = errors.New("connected to ourselves")

func (s *session) accept(offer, got *wire.Init) error {
	switch {
	case !got.Ack:
		return fmt.Errorf("%w: INIT without acknowledgement", ErrProtocol)
	case got.Version != wire.Version:
		return fmt.Errorf("%w: protocol version %#x, ours is %#x", ErrProtocol, got.Version, wire.Version)
	case got.ZID == offer.ZID:
		return fmt.Errorf("%w: %w", ErrRefused, errSelf)
	case got.WhatAmI > wire.Client || got.WhatAmI == wire.Client && offer.WhatAmI == wire.Client:
		return fmt.Errorf("%w: %v does not serve %v", ErrProtocol, got.WhatAmI, offer.WhatAmI)
	case got.Resolution&3 > offer.Resolution&3 || got.Resolution>>2&3 > offer.Resolution>>2&3:
		return fmt.Errorf("%w: resolution %#x is larger than our %#x", ErrProtocol, got.Resolution, offer.Resolution)
	}
	s.remote, s.remoteRole = got.ZID, got.WhatAmI
	s.batch = int(min(got.BatchSize, offer.BatchSize))
	if s.batch < 64 {
		return fmt.Errorf("%w: batches of %d bytes", ErrProtocol, s.batch)
	}
	s.mask = wire.SNMask(got.Resolution)
	s.qos = offer.QoS && got.QoS
	s.patch = got.Patch > 0
	return nil
}

func refuse(c *link.Conn, r wire.Reason) {
	_ = writeBatch(c, (&wire.Close{Reason: r}).Append(nil))
}

func writeBatch(c *link.Conn, b []byte) error {
	_, err := c.Write(append(binary.LittleEndian.AppendUint16(nil, uint16(len(b))), b...))
	return err
}

type decoder interface{ Decode(r *wire.Reader) error }

// unread is why nothing could be read: who is silent has not refused anything.
func unread(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// readOne reads a batch that holds one message of the kind of m.
func readOne(c *link.Conn, m decoder) error {
	var n [2]byte
	if _, err := io.ReadFull(c, n[:]); err != nil {
		return unread(err)
	}
	b := make([]byte, binary.LittleEndian.Uint16(n[:]))
	if got, err := io.ReadFull(c, b); got > 0 && err != nil {
		return fmt.Errorf("%w: %d of %d bytes of a message: %w", ErrProtocol, got, len(b), err)
	} else if err != nil {
		return unread(err)
	}
	r := wire.NewReader(b)
	if h, ok := r.Peek(); ok && wire.ID(h) == wire.IDClose {
		var cl wire.Close
		if err := cl.Decode(r); err != nil {
			return fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		return fmt.Errorf("%w: %v", ErrRefused, cl.Reason)
	}
	if err := m.Decode(r); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return nil
}
