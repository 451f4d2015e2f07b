// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

// putStamp writes the time into a payload and returns it.
func putStamp(payload []byte) int64 {
	now := linux.Monotonic()
	binary.LittleEndian.PutUint64(payload, uint64(now))
	return now
}

func stampOf(payload []byte) int64 { return int64(binary.LittleEndian.Uint64(payload)) }

// touch reads every byte, as fast as a plain loop can.
func touch(data []byte) uint64 {
	var a, b, c, d uint64
	for len(data) >= 32 {
		a += binary.LittleEndian.Uint64(data)
		b += binary.LittleEndian.Uint64(data[8:])
		c += binary.LittleEndian.Uint64(data[16:])
		d += binary.LittleEndian.Uint64(data[24:32:32])
		data = data[32:]
	}
	for ; len(data) >= 8; data = data[8:] {
		a += binary.LittleEndian.Uint64(data)
	}
	for _, x := range data {
		a += uint64(x)
	}
	return a + b + c + d
}
