// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

// Detach gives a payload back that was put with Release or Done and that
// connections have still: what these send goes on out of one copy of it. So
// connections that are behind keep nothing of the caller's. It returns how many
// bytes were copied, 0 where nobody had the payload. It waits for nothing.
//
// The copies of a session together have at most the bytes of the setting
// transport/link/tx/queue/bytes. Beyond that samples that wait are dropped, and
// connections on which one has begun to go out are closed, as there is no other
// way to have back what they have.
func (p *Publisher) Detach(payload []byte) int {
	if len(payload) == 0 {
		return 0
	}
	s := p.s
	var to []*face
	for _, f := range s.open() {
		if f.t.Holds(p.key, payload) {
			to = append(to, f)
		}
	}
	if len(to) == 0 {
		return 0
	}
	n := int64(len(payload))
	if s.copied.Add(n) > int64(s.cfg.Transport.QueueBytes) {
		s.copied.Add(-n)
		for _, f := range to {
			f.t.GiveUp(p.key, payload)
		}
		return 0
	}
	b := s.pool.Get(len(payload))
	b.B = append(b.B, payload...)
	b.OnGone(func() { s.copied.Add(-n) })
	for _, f := range to {
		f.t.Detach(p.key, payload, b)
	}
	b.Release()
	return len(payload)
}
