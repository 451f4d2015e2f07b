// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// stopper makes the end of a context visible to poll(2).
type stopper struct {
	fd   int
	stop func() bool
	mu   sync.Mutex // a late signal must not meet a closed descriptor
}

func newStopper(ctx context.Context) (*stopper, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	s := &stopper{fd: fd}
	s.stop = context.AfterFunc(ctx, s.signal)
	return s, nil
}

func (s *stopper) signal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd >= 0 {
		one := [8]byte{1}
		_, _ = unix.Write(s.fd, one[:]) // fails only when it is signalled already
	}
}

func (s *stopper) close() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = unix.Close(s.fd)
	s.fd = -1
}
