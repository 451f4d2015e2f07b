// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import "sync/atomic"

// Budget bounds what several connections put together of messages in fragments.
// A message that is larger than the limit, or for which there is no room, is
// dropped, and counts as incomplete.
type Budget struct {
	limit atomic.Int64 // of a message
	used  atomic.Int64 // memory of all connections for incomplete ones
}

// shares is how many messages of the limit may be put together at a time,
// however many connections there are; minBudget is what there is in any case
// beside one that is as large as any may be.
const (
	shares    = 64
	minBudget = 16 * firstBuffer
)

// SetLimit bounds each message that begins, or goes on, from now on: n bytes.
func (b *Budget) SetLimit(n int) { b.limit.Store(int64(n)) }

// Used is how much memory there is for incomplete messages.
func (b *Budget) Used() int { return int(b.used.Load()) }

// most is the limit of a message.
func (p *Params) most() int {
	if p.Budget == nil {
		return p.MaxMessage
	}
	return min(int(p.Budget.limit.Load()), p.MaxMessage)
}

// take asks for n bytes more for incomplete messages.
func (p *Params) take(n int) bool {
	b := p.Budget
	if b == nil || n <= 0 {
		p.give(-n)
		return true
	}
	limit := int64(p.most())
	all := min(shares*limit, int64(roomFor(p.MaxMessage))+minBudget)
	if b.used.Add(int64(n)) > max(all, minBudget) {
		b.used.Add(-int64(n))
		return false
	}
	return true
}

// give gives n bytes back.
func (p *Params) give(n int) {
	if p.Budget != nil {
		p.Budget.used.Add(-int64(n))
	}
}
