// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"runtime"

	"github.com/seed-3c7e7623/camd/internal/dl"
)

// maxParams is the most words that a call takes, with room for what is not in
// use yet: a structure of 64 bytes by value, as a handle of the older IPC calls.
// On amd64 that is its eight words behind the six of the registers, on arm64
// the address of a copy.
const maxParams = 16

// caller calls functions of the library, one at a time. It is part of something
// on the heap: stacks move, and C reads and writes the memory meanwhile.
type caller struct {
	table *[symbols]dl.Func
	args  [maxParams]uintptr
	out   results
	host  []byte // host memory of the call that runs
}

// results is memory that functions fill.
type results struct {
	address uint64
	size    uint64
	total   uint64
	number  int32
	flag    int32
	text    [256]byte
	copy    memcpy2D
}

// result calls a function.
func (c *caller) result(s symbol, args ...uintptr) Result {
	f := c.table[s]
	if f == 0 {
		return missing
	}
	n := copy(c.args[:], args)
	r := Result(int32(f.Call(c.args[:n])))
	runtime.KeepAlive(c)
	return r
}

// call calls a function and makes an error of its result.
func (c *caller) call(s symbol, args ...uintptr) error {
	return failed(s, c.result(s, args...))
}

func failed(s symbol, r Result) error {
	if r == Success {
		return nil
	}
	return &Error{Call: functions[s].name, Code: r}
}
