// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

// What may be open at a time. A camera: ring memory, twice while its format
// changes, and a child's pipes. A subscriber: a socket, a process descriptor
// and a wake-up pipe; its page, wake-up memory and end of the pipe, twice while
// the format changes. A connection that is no subscription (yet): the first two.
const (
	filesBase       = 32
	filesCamera     = 12
	filesSubscriber = 9
	filesConnection = 2
	filesDeviceRing = 4  // header and handle, twice while the format changes
	filesDriver     = 64 // that the driver of a GPU opens for itself
)

// Bounds of the connections that are served.
const (
	maxConnections = 256 // of all users
	maxPerUser     = 128 // of one user
	// freeConnections are for requests while every subscriber's place is taken;
	// filesBase has room for them.
	freeConnections = 8
)

// filesOf is what the cameras can need, and for how many subscribers.
func filesOf(cameras []*camera) (files, subscribers int64) {
	files = filesBase
	gpu := false
	for _, c := range cameras {
		if c.usesGPU() {
			gpu = true
			files += filesDeviceRing
		}
		n := int64(c.limits.subscribers)
		subscribers += n
		files += filesCamera + filesSubscriber*n
	}
	if gpu {
		files += filesDriver
	}
	return files, subscribers
}

// checkFiles holds what the cameras can need against RLIMIT_NOFILE.
func checkFiles(cameras []*camera, limit int64) error {
	if need, _ := filesOf(cameras); need > limit {
		return fmt.Errorf("%w: %d open files may be needed for %d cameras and their subscribers, RLIMIT_NOFILE (ulimit -n) is %d: raise it or lower max_subscribers",
			ErrLimits, need, len(cameras), limit)
	}
	return nil
}

// connectionLimits is how many connections may be open, in all and of one user,
// so that cameras and subscribers always find the descriptors they need.
func connectionLimits(cameras []*camera, limit int64) (all, perUser int) {
	need, subscribers := filesOf(cameras)
	spare := max(limit-need, 0) / filesConnection
	all = int(min(subscribers+freeConnections+spare, maxConnections))
	return all, min(all, maxPerUser)
}

func (d *Daemon) fileLimit() int64 {
	if d.files > 0 {
		return d.files
	}
	return linux.FileLimit()
}
