// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Conditions that callers tell apart with errors.Is.
var (
	// ErrProtocol reports a packet that the protocol does not allow. The
	// connection is of no further use: close it.
	ErrProtocol = errors.New("protocol violation")
	// ErrMessage reports a message of this side that must not be sent: a
	// mistake of the caller, nothing was sent.
	ErrMessage = errors.New("message cannot be sent")
	// ErrNotReading reports that the peer let its queue fill up and took no
	// packet within the write deadline.
	ErrNotReading = errors.New("peer does not read its socket")
	// ErrPeerGone reports that the other end is closed. Errors of Receive with
	// this condition are also io.EOF.
	ErrPeerGone = errors.New("peer closed the connection")
	// ErrInterrupted reports that Interrupt was called.
	ErrInterrupted = errors.New("receiving was interrupted")
	// ErrOpenFiles reports that this process could not take the descriptors of a
	// packet. The connection is of no further use: close it. Errors with this
	// condition are also unix.EMFILE.
	ErrOpenFiles = fmt.Errorf("the limit on open files of this process (ulimit -n) is reached: %w", unix.EMFILE)
	// ErrVersion reports another major version of the protocol.
	ErrVersion = errors.New("protocol version not supported")

	// ErrSocketUnreachable reports that no daemon answers in a directory.
	ErrSocketUnreachable = errors.New("no daemon answers")
	// ErrPermissionDenied reports that the user may not do this: connect to a
	// socket, use a directory, or be served by the daemon.
	ErrPermissionDenied = errors.New("permission denied")
	// ErrUnsafeDir reports a fallback directory that another user could have
	// prepared.
	ErrUnsafeDir = errors.New("unsafe runtime directory")
	// ErrPath reports a runtime directory that no socket can live in.
	ErrPath = errors.New("unusable runtime directory")
	// ErrInUse reports that a daemon already serves a directory. See InUseError.
	ErrInUse = errors.New("runtime directory in use by another camd")
)

// InUseError says who serves the directory. It unwraps to [ErrInUse].
type InUseError struct {
	Dir string
	PID int // 0 when it is not known
}

// Error names the directory and, when known, the process.
func (e *InUseError) Error() string {
	if e.PID > 0 {
		return fmt.Sprintf("%v: %s is served by process %d", ErrInUse, e.Dir, e.PID)
	}
	return fmt.Sprintf("%v: %s", ErrInUse, e.Dir)
}

// Unwrap returns [ErrInUse].
func (e *InUseError) Unwrap() error { return ErrInUse }

// silentError is a daemon that takes connections and answers nothing: stopped,
// or stuck. Callers know its directory.
type silentError struct{}

func (silentError) Error() string { return "camd does not answer" }

// Unwrap says that it is a daemon that does not answer, and that time is up.
func (silentError) Unwrap() []error { return []error{ErrSocketUnreachable, os.ErrDeadlineExceeded} }

// IsTemporary reports whether an error of Accept passes by itself, so that the
// caller waits a little and tries again: this process or the host is out of
// descriptors or memory, or the client went away before it was accepted.
func IsTemporary(err error) bool {
	for _, e := range []unix.Errno{
		unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM,
		unix.ECONNABORTED, unix.EINTR, unix.EAGAIN,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
