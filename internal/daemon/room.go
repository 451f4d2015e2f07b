// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/ring"
)

// errMemory: a ring does not fit.
var errMemory = errors.New("no memory for the ring")

// memoryError says whether a ring that cannot be made is worth another try. The
// first one of a stream is not, as nothing of this process will give memory
// back. A later one is: the ring before goes when its readers let go of it.
func memoryError(name string, first bool, err error) error {
	switch {
	case errors.Is(err, ring.ErrConfig):
		return fmt.Errorf("%w: ring of %s: %w", capture.ErrConfig, name, err)
	case first && (errors.Is(err, errMemory) || errors.Is(err, linux.ErrNoMemory)):
		return &tooBig{err}
	}
	return fmt.Errorf("ring of %s: %w", name, err)
}

// reserve is what the rest of the process may need, in bytes.
const reserve = 16 << 20

// room holds a ring that is about to be made, and what the stream needs beside
// it in bytes, against the limits of the process.
func room(name string, slots, size int, beside int64, limits []linux.Limit) error {
	need := linux.PageRound(int64(size))*int64(slots) + beside
	for _, l := range limits {
		if need+reserve > l.Room() {
			return fmt.Errorf("%w: %s needs %s (%d slots of %s), but %s leaves %s: lower max_subscribers, set slots=N, or take a smaller size",
				errMemory, name, mega(need), slots, mega(int64(size)), l.Name, mega(max(l.Room()-reserve, 0)))
		}
	}
	return nil
}

func mega(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// tooBig is a ring that this host has no memory for. Its text is the cause's,
// which says so.
type tooBig struct{ cause error }

func (e *tooBig) Error() string { return e.cause.Error() }

// Unwrap names the condition and the cause.
func (e *tooBig) Unwrap() []error { return []error{capture.ErrUnsupported, e.cause} }
