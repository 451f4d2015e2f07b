// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "fmt"

// Message holds one network message of any kind; ID says which field is set.
// It is made to be used again for the next one.
type Message struct {
	ID            byte
	Push          Push
	Request       Request
	Response      Response
	ResponseFinal ResponseFinal
	Declare       Declare
	Interest      Interest
	OAM           OAM
}

// Decode reads the next network message.
func (m *Message) Decode(r *Reader) error {
	h, ok := r.Peek()
	if !ok {
		r.fail(ErrShort)
		return r.err
	}
	m.ID = ID(h)
	switch m.ID {
	case IDPush:
		return m.Push.Decode(r)
	case IDRequest:
		return m.Request.Decode(r)
	case IDResponse:
		return m.Response.Decode(r)
	case IDResponseFinal:
		return m.ResponseFinal.Decode(r)
	case IDDeclare:
		return m.Declare.Decode(r)
	case IDInterest:
		return m.Interest.Decode(r)
	case IDOAM:
		return m.OAM.Decode(r)
	}
	r.fail(fmt.Errorf("%w: %#x is no network message", ErrInvalid, h))
	return r.err
}

// OAM is OAM: operation and maintenance between routers and peers.
type OAM struct {
	ID   uint16
	QoS  QoS
	Val  uint64
	Body []byte
}

// Decode reads the message, header included.
func (m *OAM) Decode(r *Reader) error {
	h := r.U8()
	*m = OAM{ID: uint16(r.z(16))}
	m.QoS = r.routing(h, nil)
	switch h & encAll {
	case 0:
	case encZ64:
		m.Val = r.Zint()
	case encBuf:
		m.Body = r.counted(32)
	default:
		r.fail(fmt.Errorf("%w: OAM %#x with an unknown kind of body", ErrInvalid, h))
	}
	return r.err
}
