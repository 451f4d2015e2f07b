// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/hmac"
	"crypto/sha3"
	"encoding/binary"
	"fmt"
	"hash"

	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// The authentication extension holds a chain of extensions, one a method. User
// and password have number 2 there.
const (
	authOffer = 0x02 // unit: we have a name; and: accepted
	authNonce = 0x22 // integer
	authProof = 0x42 // bytes: name and keyed hash of the password
)

// authAnswer reads the nonce out of the extension of INIT's acknowledgement
// and returns the extension for OPEN.
func authAnswer(ext []byte, user, password string) ([]byte, error) {
	r := wire.NewReader(ext)
	for r.Len() > 0 {
		h := r.U8()
		switch {
		case h&0x7F == authNonce:
			nonce := r.Zint()
			if r.Err() != nil {
				return nil, fmt.Errorf("%w: nonce: %w", ErrProtocol, r.Err())
			}
			return authBody(nonce, user, password), nil
		case h&0x60 == 0x20:
			r.Zint()
		case h&0x60 == 0x40:
			r.Bytes(r.Zint())
		}
	}
	return nil, fmt.Errorf("%w: user and password were offered, but the other side asks for neither", ErrRefused)
}

func authBody(nonce uint64, user, password string) []byte {
	var proof []byte
	proof = append(wire.AppendZint(proof, uint64(len(user))), user...)
	sum := keyedHash(nonce, password)
	proof = append(wire.AppendZint(proof, uint64(len(sum))), sum...)
	return append(wire.AppendZint([]byte{authProof}, uint64(len(proof))), proof...)
}

func keyedHash(nonce uint64, password string) []byte {
	mac := hmac.New(func() hash.Hash { return sha3.New256() }, binary.LittleEndian.AppendUint64(nil, nonce))
	_, _ = mac.Write([]byte(password))
	return mac.Sum(nil)
}

// offersName says whether the extension of INIT offers a user and password.
func offersName(ext []byte) bool {
	_, ok := method(ext, authOffer)
	return ok
}

// method finds the extension of that kind in a chain, and its bytes.
func method(ext []byte, id byte) (body []byte, ok bool) {
	r := wire.NewReader(ext)
	for r.Len() > 0 {
		h := r.U8()
		var b []byte
		switch h & 0x60 {
		case 0x20:
			r.Zint()
		case 0x40:
			b = r.Bytes(r.Zint())
		}
		if r.Err() != nil {
			return nil, false
		}
		if h&0x7F == id {
			return b, true
		}
	}
	return nil, false
}

// authCheck looks whether the extension of OPEN proves that one of the users is
// there.
func authCheck(ext []byte, nonce uint64, users map[string]string) error {
	body, ok := method(ext, authProof)
	r := wire.NewReader(body)
	name, proof := r.Bytes(r.Zint()), r.Bytes(r.Zint())
	password, known := users[string(name)]
	if !ok || r.Err() != nil || !hmac.Equal(proof, keyedHash(nonce, password)) || !known {
		return &Refusal{wire.Generic, "wrong user or password"}
	}
	return nil
}
