// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// ErrFile reports a file of settings that is of another kind than can be read,
// or too long.
var ErrFile = errors.New("unreadable file")

// maxPEM bounds a certificate, key or bundle of certificates: that of all
// public roots has a quarter of it.
const maxPEM = 1 << 20

// pipeTime is how long a pipe may be silent.
const pipeTime = 2 * time.Second

// ReadFile reads a regular file of at most limit bytes. It fails with [ErrFile]
// or the error of the file system, and never waits: a pipe, a device or a
// socket is refused.
func ReadFile(path string, limit int64) ([]byte, error) { return read(path, limit, false) }

// ReadFileOrPipe is [ReadFile] that also reads a pipe, to which somebody must be
// writing and go on doing so.
func ReadFileOrPipe(path string, limit int64) ([]byte, error) { return read(path, limit, true) }

func read(path string, limit int64, pipes bool) ([]byte, error) {
	// Nonblocking, so that opening does not wait for who writes to a pipe, which
	// no signal could end.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	pipe := info.Mode()&os.ModeNamedPipe != 0
	switch {
	case info.Mode().IsRegular():
	case pipe && pipes:
		if err := f.SetReadDeadline(time.Now().Add(pipeTime)); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrFile, path, err)
		}
	default:
		return nil, fmt.Errorf("%w: %s is not a regular file", ErrFile, path)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("%w: %s is a pipe whose writer has not ended within %v", ErrFile, path, pipeTime)
	case err != nil:
		return nil, err
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrFile, path, limit)
	case pipe && len(data) == 0:
		return nil, fmt.Errorf("%w: %s is a pipe to which nobody writes", ErrFile, path)
	}
	return data, nil
}
