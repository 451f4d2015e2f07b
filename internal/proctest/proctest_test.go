// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package proctest

import (
	"fmt"
	"net"
	"sync"
	"testing"
)

// A port is given out once, and not while somebody listens on it.
func TestPort(t *testing.T) {
	first := Port(t)
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var mu sync.Mutex
	seen := map[int]bool{first: true}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				p := Port(t)
				mu.Lock()
				if seen[p] || p < firstPort || p >= firstPort+blocks*blockSize {
					t.Errorf("port %d, or not for the first time", p)
				}
				seen[p] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
}
