// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuframe

import (
	"errors"

	"github.com/seed-3c7e7623/camd/client/gpu"
)

// Conditions that callers tell apart with errors.Is, besides those of package
// client/gpu.
var (
	// ErrDriver: cu and client/gpu use different libraries as the driver, each of
	// which has contexts, streams and memory of its own.
	ErrDriver = errors.New("cu and client/gpu use different drivers")
	// ErrContext: a stream of another context than the frame's memory: of another
	// GPU, or of one that cu.NewContext or MakeContext made.
	ErrContext = errors.New("stream of another context")
	// ErrDevice: a frame of a subscription of another gpu.Device.
	ErrDevice = errors.New("frame of another device")
	// ErrReleased: the frame was released before.
	ErrReleased = gpu.ErrReleased
	// ErrInUse: Close found frames that were not released.
	ErrInUse = gpu.ErrInUse
	// ErrClosed: the context was closed.
	ErrClosed = errors.New("context closed")
)
