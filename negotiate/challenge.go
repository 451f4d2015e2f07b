// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
)

// ProbeBytes is the length of the random bytes in a ring header that a client
// reads to prove that it has mapped the memory.
const ProbeBytes = 32

// NewChallenge returns 256 random bits in hexadecimal, for one Offer.
func NewChallenge() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// Proof is what a client that can read probe answers to a challenge:
// hex(SHA-256(challenge as sent || probe)).
func Proof(challenge string, probe []byte) string {
	h := sha256.New()
	h.Write([]byte(challenge))
	h.Write(probe)
	return hex.EncodeToString(h.Sum(nil))
}

// CheckProof reports whether proof answers challenge, in constant time. Both
// cases of hexadecimal digits count.
func CheckProof(challenge string, probe []byte, proof string) bool {
	got, err := hex.DecodeString(proof)
	if err != nil {
		return false
	}
	want, err := hex.DecodeString(Proof(challenge, probe))
	return err == nil && subtle.ConstantTimeCompare(got, want) == 1
}
