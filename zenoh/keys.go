// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// DeclareKeyExpr declares a key expression: what is put and asked under it from
// now on carries a number in place of the text. It stays declared as long as
// the session; a [Publisher] declares its key by itself. It fails with
// [ErrKeyExpr] or [ErrClosed].
func (s *Session) DeclareKeyExpr(key string) error {
	if err := keyexpr.Validate(key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if w := s.declareKey(key); w.Scope != 0 {
		s.short[key] = w
		delete(s.routes, key)
	}
	return nil
}

// declareKey returns key as it is written on the wire, with a number that
// stays declared. With the mutex held.
func (s *Session) declareKey(key string) wire.WireExpr {
	id, ok := s.keys[key]
	if !ok {
		if len(s.keys) >= 1<<16-1 {
			return full(key)
		}
		id = uint16(len(s.keys) + 1)
		s.keys[key] = id
		for _, f := range s.open() {
			f.declareKey(key, id)
		}
	}
	return wire.WireExpr{Scope: id, Sender: true}
}

// written is key as it goes out: short where [Session.DeclareKeyExpr] was
// called. With the mutex held.
func (s *Session) written(key string) wire.WireExpr {
	if w, ok := s.short[key]; ok {
		return w
	}
	return full(key)
}
