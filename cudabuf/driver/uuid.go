// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// UUID identifies a GPU, or a part of one under MIG, on all machines. GPUs are
// compared by it: their numbers differ between processes.
type UUID [16]byte

// String is the form that nvidia-smi shows: "GPU-" and five groups of hex digits.
func (u UUID) String() string {
	h := hex.EncodeToString(u[:])
	return "GPU-" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// ParseUUID reads what String writes, in either case; "MIG-" in front, or
// nothing, is right as well.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	digits := s
	if len(s) > 4 && (strings.EqualFold(s[:4], "GPU-") || strings.EqualFold(s[:4], "MIG-")) {
		digits = s[4:]
	}
	if len(digits) != 36 || digits[8] != '-' || digits[13] != '-' || digits[18] != '-' || digits[23] != '-' {
		return u, fmt.Errorf("%q is no UUID of a GPU: want GPU-8-4-4-4-12 hex digits", s)
	}
	packed := digits[:8] + digits[9:13] + digits[14:18] + digits[19:23] + digits[24:]
	if _, err := hex.Decode(u[:], []byte(packed)); err != nil {
		return UUID{}, fmt.Errorf("%q is no UUID of a GPU: %w", s, err)
	}
	return u, nil
}

// MarshalText writes the form of String.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads what ParseUUID does.
func (u *UUID) UnmarshalText(text []byte) error {
	parsed, err := ParseUUID(string(text))
	if err == nil {
		*u = parsed
	}
	return err
}
