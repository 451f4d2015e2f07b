// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "fmt"

// OAMLinkState is the number of the OAM message that holds link states.
const OAMLinkState = 1

// LinkState is what a node says about itself or another: gossip.
type LinkState struct {
	PSID     uint64 // names the node between the two who talk, for as long as they do
	SN       uint64 // of this entry; newer ones are larger
	ZID      ZID    // zero: not said, see PSID
	WhatAmI  WhatAmI
	Locators []string // each up to 255 bytes
	Located  bool     // Locators is there, maybe empty
	Links    []uint64 // the PSIDs of the nodes that it is connected to
}

const (
	linkZID      = 1
	linkWhatAmI  = 2
	linkLocators = 4
	linkWeights  = 8
)

// roles of link states, which count 1, 2, 4.
func roleBit(w WhatAmI) byte { return 1 << w }

// AppendLinkStates appends the body of an OAM message with link states.
func AppendLinkStates(b []byte, list []LinkState) []byte {
	b = AppendZint(b, uint64(len(list)))
	for i := range list {
		m := &list[i]
		o := byte(linkWhatAmI)
		if !m.ZID.IsZero() {
			o |= linkZID
		}
		if m.Located {
			o |= linkLocators
		}
		b = AppendZint(AppendZint(append(b, o), m.PSID), m.SN)
		if !m.ZID.IsZero() {
			n := m.ZID.Len()
			b = append(AppendZint(b, uint64(n)), m.ZID[:n]...)
		}
		b = append(b, roleBit(m.WhatAmI))
		if m.Located {
			b = appendStrings(b, m.Locators)
		}
		b = AppendZint(b, uint64(len(m.Links)))
		for _, l := range m.Links {
			b = AppendZint(b, l)
		}
	}
	return b
}

// DecodeLinkStates reads the body of an OAM message with link states.
func DecodeLinkStates(b []byte) ([]LinkState, error) {
	r := Reader{b: b}
	n := r.Zint()
	if n > uint64(len(r.b))/4+1 { // each needs four bytes at least
		return nil, fmt.Errorf("%w: %d link states in %d bytes", ErrShort, n, len(r.b))
	}
	var out []LinkState
	for range n {
		m := r.linkState()
		if r.err != nil {
			return nil, r.err
		}
		out = append(out, m)
	}
	return out, r.err
}

func (r *Reader) linkState() (m LinkState) {
	o := r.Zint()
	m.PSID, m.SN = r.Zint(), r.Zint()
	if o&linkZID != 0 {
		m.ZID = r.zid(r.Zint())
	}
	if o&linkWhatAmI != 0 {
		switch w := r.U8(); w {
		case roleBit(Router):
		case roleBit(Peer):
			m.WhatAmI = Peer
		case roleBit(Client):
			m.WhatAmI = Client
		default:
			r.fail(fmt.Errorf("%w: role %#x of a link state", ErrInvalid, w))
		}
	}
	if o&linkLocators != 0 {
		m.Located = true
		m.Locators = r.strings()
	}
	n := r.Zint()
	if n > uint64(len(r.b)) {
		r.fail(fmt.Errorf("%w: %d links", ErrShort, n))
		return m
	}
	for range n {
		m.Links = append(m.Links, r.Zint())
	}
	if o&linkWeights != 0 {
		for range n {
			r.z(16)
		}
	}
	return m
}

// Append appends the message, with its body in bytes.
func (m *OAM) Append(b []byte) []byte {
	x := exts{last: len(b)}
	b = AppendZint(append(b, IDOAM|encBuf), uint64(m.ID))
	b = appendQoS(b, &x, m.QoS)
	return appendCounted(b, m.Body)
}
