// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"bytes"
	"strings"
	"testing"
)

func TestProof(t *testing.T) {
	probe := bytes.Repeat([]byte{7}, ProbeBytes)
	// printf 'abc' and 32 bytes 0x07 through sha256sum.
	const want = "f749e58224dc6d9832221a7a4712e4b5a811102c337ac5548885dec474d47882"
	if got := Proof("abc", probe); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, c := range []struct {
		name, challenge, proof string
		probe                  []byte
		ok                     bool
	}{
		{"right", "abc", want, probe, true},
		{"right in capitals", "abc", strings.ToUpper(want), probe, true},
		{"another challenge", "abd", want, probe, false},
		{"another memory", "abc", want, make([]byte, ProbeBytes), false},
		{"cut off", "abc", want[:62], probe, false},
		{"empty", "abc", "", probe, false},
		{"no hexadecimal", "abc", strings.Repeat("x", 64), probe, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := CheckProof(c.challenge, c.probe, c.proof); got != c.ok {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestChallengesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		c := NewChallenge()
		if len(c) != 64 || seen[c] {
			t.Fatalf("challenge %q", c)
		}
		seen[c] = true
	}
}
