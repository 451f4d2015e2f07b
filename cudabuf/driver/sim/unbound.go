// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"runtime"
	"sync"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/dl"
)

// manyThreads is more than a test process keeps for its goroutines.
const manyThreads = 32

// Unbound fails the test where a thread that ordinary goroutines run on has a
// context bound: somebody gave a thread back without unbinding it, and others
// would use the wrong GPU there. The library is the one that the process has
// loaded.
func Unbound(t testing.TB, library string) {
	t.Helper()
	l, err := dl.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	f, err := l.Symbol("cudasim_thread_unbound")
	if err != nil {
		t.Fatal(err)
	}
	// All at once, so that each has a thread of its own.
	var ready, done sync.WaitGroup
	ready.Add(manyThreads)
	for range manyThreads {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			ready.Wait()
			if int32(f.Call(nil)) != 0 {
				t.Error("rule broken: S3: an ordinary thread has a context bound")
			}
		})
	}
	done.Wait()
}
