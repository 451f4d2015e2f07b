// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/internal/config"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Exit codes of camd and camsub. Scripts rely on them.
const (
	ExitOK          = 0 // done, or stopped by a signal after a clean end
	ExitFailure     = 1 // failed while running
	ExitUsage       = 2 // wrong command line
	ExitConfig      = 3 // wrong configuration
	ExitNotFound    = 4 // device, stream or daemon not found, or gone
	ExitUnavailable = 5 // required backend not available, or not permitted
	ExitTimeout     = 6 // nothing came for --timeout
	ExitDoctor      = 7 // doctor found errors
)

// Conditions of the command line. Wrap them to choose the exit code.
var (
	ErrUsage   = errors.New("usage")          // exit 2, see UsageError
	ErrConfig  = config.ErrInvalid            // exit 3
	ErrTimeout = errors.New("timeout")        // exit 6
	ErrDoctor  = errors.New("problems found") // exit 7
)

// exitCodes is searched in order: the more telling condition first.
var exitCodes = []struct {
	is   error
	code int
}{
	{ErrUsage, ExitUsage},
	{ErrTimeout, ExitTimeout},
	{ErrDoctor, ExitDoctor},
	{ErrConfig, ExitConfig},
	{client.ErrConfig, ExitConfig},
	{capture.ErrConfig, ExitConfig},
	{capture.ErrFormatRefused, ExitConfig},
	{client.ErrPermission, ExitUnavailable},
	{negotiate.ErrPermissionDenied, ExitUnavailable},
	{client.ErrNotAvailable, ExitUnavailable},
	{client.ErrUnknownStream, ExitNotFound},
	{client.ErrAmbiguous, ExitNotFound},
	{client.ErrNoDaemon, ExitNotFound},
	{client.ErrNoRouter, ExitNotFound},
	{negotiate.ErrSocketUnreachable, ExitNotFound},
	{client.ErrClosed, ExitNotFound},
	{capture.ErrDeviceNotFound, ExitNotFound},
	{capture.ErrDeviceGone, ExitNotFound},
	{capture.ErrEndOfStream, ExitOK},
	{fs.ErrPermission, ExitUnavailable},
	{negotiate.ErrPeerGone, ExitNotFound}, // holds an EPIPE too, of the socket
	{context.Canceled, ExitOK},
	{syscall.EPIPE, ExitOK},
}

// ExitCode maps what a command returned to the exit code of the process.
// nil, a signal (context.Canceled) and a reader of stdout that went away
// (EPIPE) are success; an error that is not known is [ExitFailure].
func ExitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	for _, c := range exitCodes {
		if errors.Is(err, c.is) {
			return c.code
		}
	}
	return ExitFailure
}
