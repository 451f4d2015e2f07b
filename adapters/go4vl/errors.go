// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package go4vl

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/vladimirvivien/go4vl/v4l2"
	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
	camd "github.com/seed-3c7e7623/camd/capture/v4l2"
)

// Conditions beyond those of camd's packages capture and capture/v4l2, whose
// ErrBusy, ErrNoBandwidth and ErrIO are used where the cause is known.
var (
	// ErrDescriptor: the number of the device's descriptor is too large for
	// go4vl, which waits with select(2).
	ErrDescriptor = errors.New("descriptor too large for go4vl")
	// ErrUsedUp: go4vl cannot stream again from a device that was handed over
	// open, because its last stream ended by itself, or the program reads from it.
	ErrUsedUp = errors.New("device cannot be started again")
	// ErrClosed: the device is not open now.
	ErrClosed = errors.New("device is not open")
)

// mostDescriptor is the largest that fits into go4vl's set of descriptors
// (FD_SETSIZE - 1).
const mostDescriptor = unix.FD_SETSIZE - 1

// checkDescriptor refuses what would end the program in a goroutine of go4vl's.
func checkDescriptor(path string, fd uintptr) error {
	if fd > mostDescriptor {
		return fmt.Errorf("%w: %s is open as %d, select(2) takes 0 to %d: the program has too many files open, or opens its cameras too late", ErrDescriptor, path, fd, mostDescriptor)
	}
	return nil
}

// condition is what a device says when it is asked, see [explain].
type condition interface {
	name() string
	// gone reports whether the device does not answer any more.
	gone() bool
}

// explain says what an error of go4vl's means. go4vl makes one of ENODEV, EIO,
// ENOMEM, EBADF, ENXIO and EFAULT ("system error") and forgets which it was; the
// device is then asked whether it is still there.
func explain(what string, c condition, err error) error {
	path := c.name()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s (%s: %w)", capture.ErrDeviceNotFound, path, what, err)
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO), c.gone():
		return fmt.Errorf("%w: %s was unplugged, or its driver was removed (%s: %w)", capture.ErrDeviceGone, path, what, err)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%w: %s is used by another program, or by another device of this one (%s: %w)", camd.ErrBusy, path, what, err)
	case errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("%w for %s (%s: %w)", camd.ErrNoBandwidth, path, what, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %w: is this user in the group \"video\"?", what, err)
	case errors.Is(err, v4l2.ErrorSystem):
		return fmt.Errorf("%w: %s still answers, so it is no unplugging; which error the driver reports go4vl does not say (%s: %w)", camd.ErrIO, path, what, err)
	}
	return fmt.Errorf("%s on %s: %w", what, path, err)
}

// shortened is an error of go4vl's without the whole buffer that it prints.
type shortened struct {
	error
	text string
}

func (e shortened) Error() string { return e.text }
func (e shortened) Unwrap() error { return e.error }

func shorten(err error) error {
	if text, _, long := strings.Cut(err.Error(), ": buff: "); long {
		return shortened{err, text}
	}
	return err
}

// node is a device that is not open.
type node string

func (n node) name() string { return string(n) }
func (n node) gone() bool   { return false }

// there reports whether the node at path leads to the device that is open as fd:
// it vanishes when the device does, and another device may have taken its name.
func there(path string, fd uintptr) bool {
	var open, named unix.Stat_t
	switch err := unix.Stat(path, &named); {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case err != nil || unix.Fstat(int(fd), &open) != nil:
		return true // nothing is known
	}
	return named.Rdev == open.Rdev
}
