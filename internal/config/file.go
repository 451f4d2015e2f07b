// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// ReadFile reads the file of a configuration into in; "" is none. The end of ctx
// ends the wait for a pipe. It fails with [ErrInvalid] or the error of ctx.
func (in *Input) ReadFile(ctx context.Context, path string) error {
	if path == "" {
		return nil
	}
	// Nonblocking, so that it does not wait for who writes to a pipe, which no
	// signal could end.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil:
		return fmt.Errorf("reading %s: %w", path, ctx.Err())
	case err != nil:
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	case len(data) == 0 && info.Mode()&os.ModeNamedPipe != 0:
		return fmt.Errorf("%w: %s is a pipe to which nobody writes", ErrInvalid, path)
	}
	in.Data, in.Name = data, path
	return nil
}
