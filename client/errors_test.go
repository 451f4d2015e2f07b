// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// Every message says each thing once.
func TestRefusedText(t *testing.T) {
	for want, r := range map[string]negotiate.Refusal{
		`unknown stream: no stream "x/color" here`: {Reason: negotiate.ReasonUnknownStream, Text: `no stream "x/color" here`},
		"not permitted (permission_denied): user 7 asked": {
			Reason: negotiate.ReasonPermissionDenied, Text: negotiate.ErrPermissionDenied.Error() + ": user 7 asked",
		},
		"backend not available: no path to x/color, required cuda: cuda: not_offered": {
			Reason: negotiate.ReasonNotOffered, Text: "no path to x/color, required cuda: cuda: not_offered",
		},
		"backend not available (limit): 3 connections": {Reason: negotiate.ReasonLimit, Text: "3 connections"},
	} {
		if got := refused("x/color", "/d", &r).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := (&RefusedError{Refusal: negotiate.Refusal{Text: "no"}}).Error(); got != "no" {
		t.Errorf("without a condition: %q", got)
	}
}

func TestNoDaemonText(t *testing.T) {
	at := func(dir string, err error) dirError {
		return dirError{dir, fmt.Errorf("%w at %s/camd.sock: %w", negotiate.ErrSocketUnreachable, dir, err)}
	}
	denied := dirError{"/c", fmt.Errorf("%w at /c/camd.sock: %w", negotiate.ErrPermissionDenied, unix.EACCES)}
	refusal := refused("", "/r", &negotiate.Refusal{Reason: negotiate.ReasonPermissionDenied, Text: "user 7 asked"})
	for name, tc := range map[string]struct {
		errs []dirError
		is   error
		want string
	}{
		"nowhere to look": {nil, ErrNoDaemon, "no camd found: no runtime directory to look in"},
		"one cause": {
			[]dirError{at("/a", unix.ENOENT), at("/b", unix.ENOENT)},
			ErrNoDaemon,
			"no camd found: no socket in /a, /b; start one with: camd run",
		},
		"two causes": {
			[]dirError{at("/a", unix.ENOENT), at("/b", unix.ECONNREFUSED), at("/d", unix.ENOENT)},
			ErrNoDaemon,
			"no camd found: no socket in /a, /d; a socket that nobody serves in /b; start one with: camd run",
		},
		"closed": {
			[]dirError{at("/a", unix.ENOENT), denied},
			ErrPermission,
			fmt.Sprintf("not permitted: permission denied for user %d in /c: join the group camd, or run camd with --allow-uid %[1]d", os.Geteuid()),
		},
		"refused": {
			[]dirError{at("/a", unix.ENOENT), {"/r", refusal}}, ErrPermission, "not permitted (permission_denied): user 7 asked",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := noDaemon(tc.errs)
			if !errors.Is(err, tc.is) || err.Error() != tc.want {
				t.Errorf("got %q, want %q", err, tc.want)
			}
		})
	}
}
