// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// dirError is why a runtime directory was of no use.
type dirError struct {
	dir string
	err error
}

// noDaemon sums up why no directory had a daemon that answers, each cause once,
// and says what to do.
func noDaemon(errs []dirError) error {
	var closed, causes []string
	dirs := make(map[string][]string) // by cause
	for _, e := range errs {
		if refused := new(RefusedError); errors.As(e.err, &refused) && errors.Is(refused, ErrPermission) {
			return e.err
		}
		if errors.Is(e.err, negotiate.ErrPermissionDenied) {
			closed = append(closed, e.dir)
			continue
		}
		cause := causeText(e.err)
		if dirs[cause] == nil {
			causes = append(causes, cause)
		}
		dirs[cause] = append(dirs[cause], e.dir)
	}
	if len(closed) > 0 {
		return fmt.Errorf("%w: permission denied for user %d in %s: join the group %s, or run camd with --allow-uid %[2]d",
			ErrPermission, os.Geteuid(), strings.Join(closed, ", "), negotiate.DefaultGroup)
	}
	if len(causes) == 0 {
		return fmt.Errorf("%w: no runtime directory to look in", ErrNoDaemon)
	}
	for i, cause := range causes {
		causes[i] = cause + " in " + strings.Join(slices.Compact(dirs[cause]), ", ")
	}
	return fmt.Errorf("%w: %s; start one with: camd run", ErrNoDaemon, strings.Join(causes, "; "))
}

// causeText is a cause without the path that differs from directory to
// directory.
func causeText(err error) string {
	switch {
	case errors.Is(err, unix.ENOENT):
		return "no socket"
	case errors.Is(err, unix.ECONNREFUSED):
		return "a socket that nobody serves"
	}
	return strings.TrimPrefix(err.Error(), negotiate.ErrSocketUnreachable.Error()+" at ")
}
