// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/zeebo/xxh3"
)

// GID names a publisher or subscriber among all others.
type GID [16]byte

// HashToken returns the GID of the entity with the token: XXH3-128 with seed
// 0, the low half before the high one, each with the low byte first.
func HashToken(token string) (g GID) {
	h := xxh3.HashString128(token)
	binary.LittleEndian.PutUint64(g[:8], h.Lo)
	binary.LittleEndian.PutUint64(g[8:], h.Hi)
	return g
}

// String returns 32 hexadecimal digits.
func (g GID) String() string { return hex.EncodeToString(g[:]) }

// ParseGID reads 32 lower-case hexadecimal digits. It fails with [ErrKey].
func ParseGID(s string) (g GID, err error) {
	if b, err := hex.DecodeString(s); err == nil && len(b) == len(g) && hex.EncodeToString(b) == s {
		return GID(b), nil
	}
	return g, fmt.Errorf("%w: %.40q is no GID of 32 hexadecimal digits", ErrKey, s)
}
