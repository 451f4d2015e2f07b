// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package proctest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
)

// Ports below the kernel's own range, which begins at 32768, so that no
// connection gets one by chance before it is used. Processes of tests that run
// beside each other mostly have other blocks.
const (
	firstPort = 10_000
	blocks    = 40
	blockSize = 500
)

var ports struct {
	sync.Mutex
	next int // how many were looked at, from a random one on
	from int
}

// Port returns a TCP port of loopback that nobody listens on, and that is given
// out once: a program that is about to start can be told of it.
func Port(t testing.TB) int {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	if ports.next == 0 {
		ports.from = rand.IntN(blockSize)
	}
	for range blockSize {
		p := firstPort + os.Getpid()%blocks*blockSize + (ports.from+ports.next)%blockSize
		ports.next++
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p)); err == nil {
			_ = l.Close()
			return p
		}
	}
	t.Fatal("no port is free")
	return 0
}
