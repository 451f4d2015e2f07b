// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/negotiate"
)

func TestExitCode(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want int
	}{
		"success":                  {nil, 0},
		"signal":                   {context.Canceled, 0},
		"reader of stdout is gone": {&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}, 0},
		"recording is over":        {capture.ErrEndOfStream, 0},
		"anything else":            {errBroken, 1},
		"bad frames":               {errBadFrames, 1},
		"protocol":                 {client.ErrProtocol, 1},
		"usage":                    {Usagef("no"), 2},
		"configuration":            {ErrConfig, 3},
		"camera options":           {capture.ErrConfig, 3},
		"format refused":           {capture.ErrFormatRefused, 3},
		"no daemon":                {client.ErrNoDaemon, 4},
		"unknown stream":           {client.ErrUnknownStream, 4},
		"daemon is gone":           {fmt.Errorf("%w: %w", negotiate.ErrPeerGone, syscall.EPIPE), 4},
		"daemon does not answer":   {fmt.Errorf("subscribing: %w", negotiate.ErrSocketUnreachable), 4},
		"closed":                   {client.ErrClosed, 4},
		"device not found":         {capture.ErrDeviceNotFound, 4},
		"device gone":              {capture.ErrDeviceGone, 4},
		"not available":            {client.ErrNotAvailable, 5},
		"not permitted":            {client.ErrPermission, 5},
		"directory of the daemon":  {fmt.Errorf("%w: %w", negotiate.ErrPermissionDenied, syscall.EROFS), 5},
		"permission of a file":     {fs.ErrPermission, 5},
		"timeout":                  {ErrTimeout, 6},
		"doctor":                   {ErrDoctor, 7},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ExitCode(tc.err); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
			if tc.err == nil {
				return
			}
			if got := ExitCode(fmt.Errorf("opening: %w", tc.err)); got != tc.want {
				t.Errorf("wrapped: got %d, want %d", got, tc.want)
			}
		})
	}
}
