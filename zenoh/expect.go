// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

// minExpected is the largest message that a session takes which has asked for
// none of a size: declarations have keys of up to 64 KiB, and what peers tell of
// each other has some hundred bytes for each of them.
const minExpected = 256 << 10

// expect notes that something was declared, or with -1 that it is gone, that
// receives messages with up to so many bytes; 0: any size. With the mutex held.
func (s *Session) expect(bytes, count int) {
	if bytes > 0 {
		// Beside the payload there are keys, attachments and heads.
		bytes += minExpected
	}
	if s.expected[bytes] += count; s.expected[bytes] == 0 {
		delete(s.expected, bytes)
	}
	s.limit()
}

// limit bounds what arrives by what is expected. With the mutex held.
func (s *Session) limit() {
	most := minExpected
	for n := range s.expected {
		if n == 0 {
			most = s.cfg.Transport.MaxMessage
			break
		}
		most = max(most, n)
	}
	s.budget.SetLimit(most)
}
