// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
)

// Conditions of devices beyond those of package capture. All are tried again.
var (
	// ErrBusy: another program has the device.
	ErrBusy = errors.New("device busy")
	// ErrNoBandwidth: the USB bus cannot carry the stream beside the others.
	ErrNoBandwidth = errors.New("not enough USB bandwidth")
	// ErrIO: the driver gave up on the stream; it has to begin anew.
	ErrIO = errors.New("driver reports an I/O error")
	// ErrNoSignal: nothing, or nothing stable, arrives at the input.
	ErrNoSignal = errors.New("no signal")
)

// bandwidthAdvice is what helps against ENOSPC, most useful first.
const bandwidthAdvice = "take MJPG, a smaller size or rate, another USB controller for one of the cameras, or load uvcvideo with quirks=0x80 if the camera asks for more than it uses"

// explain says what an errno of a request means. The errno stays in the chain.
func explain(request, path string, err error) error {
	switch {
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("%w: %s was unplugged, or its driver was removed (%s: %w)", capture.ErrDeviceGone, path, request, err)
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("%w: %s (%s: %w)", capture.ErrDeviceNotFound, path, request, err)
	case errors.Is(err, unix.EIO):
		return fmt.Errorf("%w: %s: the stream begins anew; if it happens often, look at cable, hub and power (%s: %w)", ErrIO, path, request, err)
	case errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("%w for %s: %s (%s: %w)", ErrNoBandwidth, path, bandwidthAdvice, request, err)
	case errors.Is(err, unix.EBUSY):
		who := "by another program, or by a user whose processes this one may not see"
		if list := holders("/proc", path); len(list) > 0 {
			who = "by " + strings.Join(list, ", ")
		}
		return fmt.Errorf("%w: %s is used %s (%s: %w)", ErrBusy, path, who, request, err)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%s: %w: is this user in the group \"video\"?", request, err)
	}
	return fmt.Errorf("%s on %s: %w", request, path, err)
}
