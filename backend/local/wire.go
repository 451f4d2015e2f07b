// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package local

import (
	"errors"
	"io"
	"net"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// send attaches, in this order, header and pixels of e, page and wake-up memory
// of rd, and with START the client's end of the wake-up pipe.
func (s *subscription) send(m *negotiate.Message, e *Epoch, rd *ring.Reader) error {
	var fds []int
	defer func() { closeAll(fds...) }()
	if e != nil {
		h, p, err := e.files()
		if err != nil {
			return err
		}
		fds = append(fds, h, p)
	}
	if rd != nil {
		page, err := rd.PageFile()
		if err != nil {
			return err
		}
		fds = append(fds, page)
		wake, err := rd.WakeFile()
		if err != nil {
			return err
		}
		fds = append(fds, wake)
	}
	all := fds
	if m.Type == negotiate.TypeStart && s.pipe[0] >= 0 {
		all = append(append([]int(nil), fds...), s.pipe[0])
	}
	return s.conn.Send(m, all...)
}

// makePipe makes the wake-up pipe. It is a pair of sockets and no pipe(2): a
// reader can hold a pipe's lock for as long as it likes, by reading into memory
// whose page fault it does not answer, and a write would wait for that without
// regard to O_NONBLOCK. Nothing goes the other way.
func (s *subscription) makePipe() error {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	s.pipe = p
	return unix.Shutdown(p[1], unix.SHUT_RD)
}

// pipeEnd duplicates the write end of the wake-up pipe for one epoch's reader,
// -1 for a futex reader. The duplicate shares its flags with the original,
// which never leaves this process.
func (s *subscription) pipeEnd() (int, error) {
	if s.pipe[1] < 0 {
		return -1, nil
	}
	return unix.FcntlInt(uintptr(s.pipe[1]), unix.F_DUPFD_CLOEXEC, 0)
}

// declined turns the ring's refusal into a reason.
func (s *subscription) declined(err error) error {
	var d *backend.DeclinedError
	switch {
	case errors.As(err, &d):
		return err
	case errors.Is(err, ring.ErrFull):
		return backend.Declined(s.v.Backend, negotiate.ReasonRingFull, "%v", err)
	case errors.Is(err, ring.ErrRetired):
		return backend.Declined(s.v.Backend, negotiate.ReasonNotReady, "the camera is changing its format")
	case errors.Is(err, linux.ErrNoMemory), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return backend.Declined(s.v.Backend, negotiate.ReasonLimit, "%v", err)
	}
	return err
}

// failed sorts errors of the connection during the hand-shake: a ring that was
// replaced meanwhile is no fault of the client.
func (s *subscription) failed(err error) error {
	if errors.Is(err, ring.ErrRetired) {
		return s.declined(err)
	}
	return err
}

// probeReason passes on what a client may say about its probe. Reasons are
// counted and logged by their word, so one that is made up must not get there.
func (s *subscription) probeReason(r negotiate.Reason) negotiate.Reason {
	switch r {
	case negotiate.ReasonProtocol, negotiate.ReasonNotAccepted, negotiate.ReasonLimit:
		return r
	case negotiate.ReasonNoDriver, negotiate.ReasonDriverMismatch, negotiate.ReasonDifferentGPU, negotiate.ReasonVMMUnsupported,
		negotiate.ReasonPIDNamespace, negotiate.ReasonSameProcess, negotiate.ReasonGPULost, negotiate.ReasonBuiltWithoutDL,
		negotiate.ReasonGPUError, negotiate.ReasonGPUTimeout:
		if s.v.Backend == negotiate.BackendCUDA {
			return r
		}
	}
	return negotiate.ReasonProbeMismatch
}

// cutReason is why a running subscription cannot go on.
func cutReason(err error) negotiate.Reason {
	var d *backend.DeclinedError
	switch {
	case errors.As(err, &d):
		return d.Reason
	case errors.Is(err, ring.ErrRetired):
		return negotiate.ReasonNotReady
	case errors.Is(err, negotiate.ErrNotReading):
		return negotiate.ReasonNotReading
	case errors.Is(err, ring.ErrFull):
		return negotiate.ReasonRingFull
	case errors.Is(err, linux.ErrNoMemory), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return negotiate.ReasonLimit
	}
	return negotiate.ReasonProtocol
}

func endReason(err, evicted error) string {
	switch {
	case evicted != nil:
		return "evicted"
	case err == nil:
		return "bye"
	case errors.Is(err, io.EOF), errors.Is(err, negotiate.ErrPeerGone):
		return "client gone"
	case errors.Is(err, net.ErrClosed):
		return "closed by camd"
	}
	return err.Error()
}

func closeAll(fds ...int) {
	for _, fd := range fds {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}
