// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel answers EAGAIN at once when the queue of waiting connections is
// full; a daemon that is alive takes them soon.
const (
	dialPause = 5 * time.Millisecond
	dialTries = 200
)

// Dial connects to the daemon that serves dir. It fails with
// [ErrSocketUnreachable], [ErrPermissionDenied], [ErrUnsafeDir], [ErrPath] or
// the error of ctx, and says what was tried.
func Dial(ctx context.Context, dir string) (*Conn, error) {
	return dial(ctx, dir, processEnvironment())
}

func dial(ctx context.Context, dir string, env Environment) (*Conn, error) {
	path, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	if err := env.check(dir); err != nil {
		return nil, err
	}
	socket, err := connect(ctx, path)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("connecting to %s: %w", path, ctx.Err())
		}
		kind := ErrSocketUnreachable
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
			kind = ErrPermissionDenied
		}
		return nil, fmt.Errorf("%w at %s: %w", kind, path, err)
	}
	c, err := newConn(socket, clientSide)
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrSocketUnreachable, path, err)
	}
	return c, nil
}

func connect(ctx context.Context, path string) (*net.UnixConn, error) {
	var d net.Dialer
	for try := 1; ; try++ {
		c, err := d.DialContext(ctx, "unixpacket", path)
		if err == nil {
			return c.(*net.UnixConn), nil
		}
		if !errors.Is(err, unix.EAGAIN) || try == dialTries {
			return nil, cause(err)
		}
		pause := time.NewTimer(dialPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil, ctx.Err()
		case <-pause.C:
		}
	}
}

// cause drops the net package's prefix, which repeats the path.
func cause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}
