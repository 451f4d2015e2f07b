// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// Other is the other side of a handshake, as far as it has said who it is.
type Other struct {
	ZID  wire.ZID
	Role wire.WhatAmI
	// Ours: it accepts connections, and is this implementation.
	Ours bool
}

// Refusal is why a handshake is broken off, with what the other side is told.
type Refusal struct {
	Reason wire.Reason
	Why    string
}

func (r *Refusal) Error() string { return r.Why }

// Unwrap makes it an [ErrRefused].
func (r *Refusal) Unwrap() error { return ErrRefused }

// cookieMark begins the cookies of this implementation.
const cookieMark = "camd"

// Accept shakes hands with who connected through c, which it then owns, and
// starts to write. ctx bounds it. On an error c is closed.
func Accept(ctx context.Context, c *link.Conn, p Params, pool *Pool) (*Transport, error) {
	if err := p.Validate(); err != nil {
		_ = c.Close()
		return nil, err
	}
	s, err := answer(ctx, c, &p)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return begin(c, p, s, pool), nil
}

// answer shakes hands as the side that was dialled.
func answer(ctx context.Context, c *link.Conn, p *Params) (s session, err error) {
	defer bound(ctx, c, &err)()
	var offer wire.Init
	if err := readOne(c, &offer); err != nil {
		return s, fmt.Errorf("INIT: %w", err)
	}
	ack := wire.Init{
		Ack: true, Version: wire.Version, WhatAmI: p.WhatAmI, ZID: p.ZID,
		Resolution: min(p.Resolution&3, offer.Resolution&3) | min(p.Resolution&0x0C, offer.Resolution&0x0C),
		BatchSize:  min(uint16(min(p.BatchSize, c.MTU)), offer.BatchSize),
		QoS:        p.QoS && offer.QoS, Patch: min(1, offer.Patch),
		Cookie: make([]byte, len(cookieMark)+12),
	}
	_, _ = rand.Read(ack.Cookie[copy(ack.Cookie, cookieMark):])
	if err := judge(&offer, p, ack.BatchSize); err != nil {
		return s, turnAway(c, err)
	}
	nonce := binary.LittleEndian.Uint64(ack.Cookie[len(cookieMark):])
	if p.Users != nil {
		if !offersName(offer.Auth) {
			return s, turnAway(c, &Refusal{wire.Generic, "it gives no user and password"})
		}
		ack.Auth = wire.AppendZint([]byte{authNonce}, nonce)
	}
	if err := writeBatch(c, ack.Append(nil)); err != nil {
		return s, err
	}
	var open wire.Open
	if err := readOne(c, &open); err != nil {
		return s, fmt.Errorf("OPEN: %w", err)
	}
	s = session{
		remote: offer.ZID, remoteRole: offer.WhatAmI, batch: int(ack.BatchSize), mask: wire.SNMask(ack.Resolution),
		qos: ack.QoS, patch: ack.Patch > 0, remoteSN: open.InitialSN, remoteLease: leaseOf(&open),
	}
	s.sn = firstSN(p, s.mask)
	switch {
	case open.Ack || open.InitialSN > s.mask:
		return s, turnAway(c, &Refusal{wire.Invalid, fmt.Sprintf("OPEN with first number %d of at most %d", open.InitialSN, s.mask)})
	case !hmac.Equal(open.Cookie, ack.Cookie):
		return s, turnAway(c, &Refusal{wire.Invalid, "OPEN with another cookie"})
	}
	reply := wire.Open{Ack: true, LeaseMillis: uint64(p.Lease / time.Millisecond), InitialSN: s.sn}
	if p.Users != nil {
		if err := authCheck(open.Auth, nonce, p.Users); err != nil {
			return s, turnAway(c, err)
		}
		reply.Auth = []byte{authOffer}
	}
	if p.Admit != nil {
		if err := p.Admit(ctx, Other{ZID: s.remote, Role: s.remoteRole}); err != nil {
			return s, turnAway(c, err)
		}
	}
	return s, writeBatch(c, reply.Append(nil))
}

// judge looks whether who offers can be talked to at all.
func judge(offer *wire.Init, p *Params, batch uint16) error {
	switch {
	case offer.Ack:
		return &Refusal{wire.Invalid, "an acknowledgement of INIT instead of INIT"}
	case offer.Version != wire.Version:
		return &Refusal{wire.Invalid, fmt.Sprintf("protocol version %#x, ours is %#x", offer.Version, wire.Version)}
	case offer.ZID == p.ZID:
		return &Refusal{wire.ConnectionToSelf, errSelf.Error()}
	case offer.WhatAmI > wire.Client:
		return &Refusal{wire.Invalid, fmt.Sprintf("a node of %v", offer.WhatAmI)}
	case offer.WhatAmI == wire.Client && p.WhatAmI == wire.Client:
		return &Refusal{wire.Invalid, "a client, and so are we"}
	case batch < 64:
		return &Refusal{wire.Invalid, fmt.Sprintf("batches of %d bytes", batch)}
	}
	return nil
}

// turnAway tells the other side why, as far as err says.
func turnAway(c *link.Conn, err error) error {
	reason := wire.Generic
	if r := (*Refusal)(nil); errors.As(err, &r) {
		reason = r.Reason
	}
	_ = c.SetWriteDeadline(time.Now().Add(time.Second))
	refuse(c, reason)
	return fmt.Errorf("turned away: %w", err)
}

// bound makes reads of c end with ctx. The function that it returns ends that,
// and puts ctx's end into the error where that was the cause.
func bound(ctx context.Context, c *link.Conn, err *error) func() {
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	return func() {
		if !stop() && *err != nil && ctx.Err() != nil {
			*err = fmt.Errorf("%w (%w)", context.Cause(ctx), *err)
		}
		_ = c.SetReadDeadline(time.Time{})
	}
}

// firstSN is the first number of a side: the same on each connection.
func firstSN(p *Params, mask uint64) uint64 {
	return uint64(binary.LittleEndian.Uint32(p.ZID[:4])) & mask
}

func leaseOf(m *wire.Open) time.Duration {
	return time.Duration(min(max(m.LeaseMillis, 1), 24*3600*1000)) * time.Millisecond
}

// isOurs recognises this implementation by its cookie.
func isOurs(m *wire.Init) bool { return bytes.HasPrefix(m.Cookie, []byte(cookieMark)) }

// Role is what we are on this connection.
func (t *Transport) Role() wire.WhatAmI { return t.p.WhatAmI }

// LocalAddr is our own address.
func (t *Transport) LocalAddr() net.Addr { return t.conn.LocalAddr() }
