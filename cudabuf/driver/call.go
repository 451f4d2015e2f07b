// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

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

	user    string       // for people: whose calls
	running atomic.Int32 // the symbol that is called, plus 1; 0 for none
	since   atomic.Int64 // time since started at which it was called
}

// callers are those whose calls Busy watches.
var callers struct {
	sync.Mutex
	m map[*caller]struct{}
}

// started is what times of calls are counted from.
var started = time.Now()

func watch(c *caller) {
	callers.Lock()
	defer callers.Unlock()
	if callers.m == nil {
		callers.m = make(map[*caller]struct{})
	}
	callers.m[c] = struct{}{}
}

func unwatch(c *caller) {
	callers.Lock()
	defer callers.Unlock()
	delete(callers.m, c)
}

// Busy is the call of the driver that has been running for longest in this
// process: the function's name, and for how long. user, the name of a [Thread],
// asks for that one's calls only; "" is all. Without a call it is "" and 0. It
// never waits, for the driver least of all: who serves others asks this instead
// of waiting for a call that may hang.
func Busy(user string) (call string, age time.Duration) {
	now := time.Since(started)
	callers.Lock()
	defer callers.Unlock()
	for c := range callers.m {
		s := c.running.Load()
		if s == 0 || user != "" && c.user != user {
			continue
		}
		if a := now - time.Duration(c.since.Load()); a >= age && c.running.Load() == s {
			call, age = functions[s-1].name, a
		}
	}
	return call, age
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
	c.since.Store(int64(time.Since(started)))
	c.running.Store(int32(s) + 1)
	r := Result(int32(f.Call(c.args[:n])))
	c.running.Store(0)
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
