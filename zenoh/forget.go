// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

// Forget drops what the publisher has kept for late subscribers
// ([PublisherOptions.Cache]): samples that would be worse than none, of a
// publisher that puts nothing new while nobody subscribes. Numbers go on.
func (p *Publisher) Forget() {
	c := p.cache
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.vals {
		c.vals[i].Release()
		c.vals[i] = Sample{}
	}
	c.vals, c.head = c.vals[:0], 0
}
