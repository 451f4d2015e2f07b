// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"encoding/json"
	"fmt"
	"slices"
)

// kickPacket is what SendKick sends and the one packet that Receive knows
// without parsing: it comes once a frame when a reader is short of slots.
var kickPacket = []byte(`{"type":"kick"}`)

// knownTypes are the types of this version.
var knownTypes = []Type{
	TypeHello, TypeOffer, TypeProbe, TypeStart, TypeReconfig, TypeAck, TypeKick,
	TypeEvict, TypeReject, TypeBye, TypeList, TypeStreams, TypeStatus,
}

// Known reports whether t is a type of this version.
func (t Type) Known() bool { return slices.Contains(knownTypes, t) }

// encode checks a message and turns it into a packet. Free texts are tidied,
// see tidy. Errors are [ErrMessage].
func encode(m *Message) ([]byte, error) {
	if m == nil {
		return nil, fmt.Errorf("%w: no message", ErrMessage)
	}
	m = tidy(m)
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrMessage, m.Type, err)
	}
	if len(b) > MaxPacket {
		return nil, fmt.Errorf("%w: %s takes %d bytes, a packet has at most %d", ErrMessage, m.Type, len(b), MaxPacket)
	}
	return b, nil
}

// decode turns a packet into a message and checks it. A type that this version
// does not know comes back with nothing but its Type, for the caller to skip:
// a higher minor version may send it. Errors are [ErrProtocol].
func decode(b []byte) (*Message, error) {
	if len(b) > MaxPacket {
		return nil, fmt.Errorf("%w: packet of %d bytes, at most %d are allowed", ErrProtocol, len(b), MaxPacket)
	}
	// The type first: members of an unknown type may have any shape.
	var head struct {
		Type Type `json:"type"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("%w: not a JSON message: %w", ErrProtocol, err)
	}
	if err := checkName("type", string(head.Type), maxWord); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	if !head.Type.Known() {
		return &Message{Type: head.Type}, nil
	}
	m := new(Message)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrProtocol, head.Type, err)
	}
	if string(m.Status) == "null" {
		m.Status = nil
	}
	m = tidy(m)
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	forgetOtherMajor(m)
	return m, nil
}

// forgetOtherMajor leaves nothing but the version in a message of another major
// version: Validate cannot judge the rest.
func forgetOtherMajor(m *Message) {
	switch {
	case m.Hello != nil && m.Hello.Protocol.Major != Major:
		m.Hello = &Hello{Protocol: m.Hello.Protocol}
	case m.Offer != nil && m.Offer.Protocol.Major != Major:
		m.Offer = &Offer{Protocol: m.Offer.Protocol}
	case m.Streams != nil && m.Streams.Protocol.Major != Major:
		m.Streams = &StreamList{Protocol: m.Streams.Protocol}
	}
}

// StreamPages splits a list of streams into messages that fit into packets
// each, with More set on all but the last. A list without streams is one
// message. A stream that no message may carry is left out: the others are not to
// be missed for it.
func StreamPages(l StreamList) []*Message {
	const room = MaxPacket - 4096 // the rest of the message
	var pages []*Message
	all := l.Streams
	for {
		page := l
		page.Streams = []StreamInfo{}
		for used := 0; len(all) > 0; all = all[1:] {
			one := tidyStream(all[0])
			b, err := json.Marshal(one)
			if err != nil || len(b) > room || one.validate() != nil {
				continue
			}
			if used += len(b) + 1; used > room {
				break
			}
			page.Streams = append(page.Streams, all[0])
		}
		page.More = len(all) > 0
		pages = append(pages, &Message{Type: TypeStreams, Streams: &page})
		if !page.More {
			return pages
		}
	}
}
