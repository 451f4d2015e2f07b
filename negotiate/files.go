// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"errors"

	"golang.org/x/sys/unix"
)

// MaxFiles is the number of descriptors that one packet can carry.
const MaxFiles = 4

// Files are the descriptors that came with a packet, close-on-exec. Whoever
// receives them closes them; -1 stands for one that was taken.
type Files []int

// Take hands over the ownership of descriptor i: Close leaves it alone then. It
// returns -1 when there is none.
func (f Files) Take(i int) int {
	if i < 0 || i >= len(f) {
		return -1
	}
	fd := f[i]
	f[i] = -1
	return fd
}

// Close closes what was not taken. It may be called twice.
func (f Files) Close() error {
	var errs []error
	for i := range f {
		if fd := f.Take(i); fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	return errors.Join(errs...)
}

// filesOf is how many descriptors the daemon may attach to a message. A client
// attaches none to any.
func filesOf(t Type) int {
	switch t {
	case TypeOffer, TypeStart, TypeReconfig:
		return MaxFiles
	default:
		return 0
	}
}
