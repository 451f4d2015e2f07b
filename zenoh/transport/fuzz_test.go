// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"encoding/hex"
	"testing"
)

// FuzzAuth reads the authentication extensions of INIT and OPEN, which come
// from who has not proved anything yet.
func FuzzAuth(f *testing.F) {
	for _, s := range []string{
		"02", "220a", "2288ef99abc5e88c9111", // offer, nonces
		"422705616c69636520f58b1fd120acb0f387b3adc9c89528d26aaa567760d63ebbb98365982f4e46", // cut short
		"8102220a", "a10542020161",
	} {
		b, _ := hex.DecodeString(s)
		f.Add(b, uint64(0x1122334455667788))
	}
	f.Add(authBody(7, "alice", "secret"), uint64(7))
	users := map[string]string{"alice": "secret"}
	f.Fuzz(func(t *testing.T, ext []byte, nonce uint64) {
		if answer, err := authAnswer(ext, "alice", "secret"); err == nil && len(answer) < 32 {
			t.Errorf("an answer of %d bytes", len(answer))
		}
		_ = offersName(ext)
		good := authBody(nonce, "alice", "secret")
		if err := authCheck(good, nonce, users); err != nil {
			t.Error(err)
		}
		if err := authCheck(ext, nonce, users); err == nil && len(ext) < len(good) {
			t.Errorf("%x was let in", ext)
		}
	})
}
