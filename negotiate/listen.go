// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

// backlog is the number of connections that wait for Accept.
const backlog = 128

// Listener is the daemon's end of a runtime directory.
type Listener struct {
	dir    string
	path   string
	lock   *os.File // the directory, with an exclusive flock for life
	socket *net.UnixListener
	inode  fileID // of the socket file
	shared bool

	closeOnce  sync.Once
	closeError error
}

type fileID struct{ device, inode uint64 }

// Listen makes dir if needed and serves it. It fails with [ErrInUse] (an
// *[InUseError]) when another daemon does, [ErrPermissionDenied], [ErrPath] or
// [ErrUnsafeDir]. What a killed daemon left is removed.
//
// The lock is a flock on the directory: it leaves no file, ends with the
// process, and keeps systemd-tmpfiles from cleaning the directory. Directories
// are made searchable, not readable, for others, since who can read one could
// take the lock.
func Listen(dir string) (*Listener, error) {
	return listen(dir, processEnvironment(), DefaultGroup)
}

func listen(dir string, env Environment, group string) (*Listener, error) {
	path, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	l := &Listener{dir: dir, path: path}
	fail := func(err error) (*Listener, error) {
		if l.lock != nil {
			_ = l.lock.Close()
		}
		return nil, err
	}
	if l.lock, err = openDir(dir, env); err != nil {
		return fail(err)
	}
	switch err := unix.Flock(int(l.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		_, pid := probeSocket(path)
		return fail(&InUseError{Dir: dir, PID: pid})
	case err != nil:
		return fail(fmt.Errorf("locking %s: %w", dir, err))
	}
	if err := removeStale(dir, path); err != nil {
		return fail(err)
	}
	if err := l.bind(group); err != nil {
		return fail(err)
	}
	return l, nil
}

// openDir makes and opens the directory.
func openDir(dir string, env Environment) (*os.File, error) {
	if err := env.check(dir); err != nil {
		return nil, err
	}
	mode := fs.FileMode(0o711)
	if dir == env.fallback() {
		mode = 0o700
	}
	if err := danglingLink(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return nil, dirError("making", dir, err)
	}
	if err := env.check(dir); err != nil { // again: it may have appeared just now
		return nil, err
	}
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, dirError("opening", dir, err)
	}
	if dir == env.fallback() {
		if err := f.Chmod(mode); err != nil {
			_ = f.Close()
			return nil, dirError("closing to others", dir, err)
		}
	}
	return f, nil
}

// danglingLink explains what mkdir calls a file that exists.
func danglingLink(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	target, err := os.Readlink(dir)
	if err != nil {
		return nil // nothing there at all
	}
	return fmt.Errorf("%w: %s is a symbolic link to %s, which does not exist", ErrPath, dir, target)
}

func dirError(what, dir string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("%s: %w", pe.Path, pe.Err)
	}
	kind := ErrPath
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		kind = ErrPermissionDenied
	}
	return fmt.Errorf("%w: %s runtime directory %s: %w: choose one that user %d can write with --runtime-dir", kind, what, dir, err, os.Geteuid())
}

// removeStale removes the socket of a daemon that is gone. The caller holds
// the lock, so whoever answers is no camd of this version, but is not ours to
// remove either.
func removeStale(dir, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return dirError("looking into", dir, err)
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("%w: %s is there and is no socket: move it away", ErrPath, path)
	}
	if live, pid := probeSocket(path); live {
		return &InUseError{Dir: dir, PID: pid}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return dirError("removing the old socket in", dir, err)
	}
	return nil
}

// probeSocket reports whether anything listens at path, and its process if the
// kernel tells.
func probeSocket(path string) (live bool, pid int) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return true, 0 // not known: leave it alone
	}
	defer unix.Close(fd)
	switch err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); {
	case err == nil:
		p, err := linux.PeerOf(fd)
		if err != nil {
			return true, 0
		}
		return true, p.PID
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.ENOENT):
		return false, 0
	default: // EAGAIN: its queue is full. EPROTOTYPE: a socket of another kind
		return true, 0
	}
}

// bind makes the socket with its final mode before anyone can connect.
func (l *Listener) bind(group string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	f := os.NewFile(uintptr(fd), l.path)
	defer f.Close() // the listener has a duplicate
	// The file takes the mode of the socket's own inode (unix_bind).
	if err := unix.Fchmod(fd, 0o600); err != nil {
		return fmt.Errorf("mode of the socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: l.path}); err != nil {
		return dirError("making the socket in", l.dir, err)
	}
	remove := func(err error) error {
		_ = os.Remove(l.path)
		return err
	}
	if gid, ok := groupID(group); ok {
		// Not possible for a user who is not in the group: then it stays 0600.
		if os.Lchown(l.path, -1, gid) == nil {
			if err := os.Chmod(l.path, 0o660); err != nil {
				return remove(dirError("opening the socket to the group in", l.dir, err))
			}
			l.shared = true
		}
	}
	if l.inode, err = identifyFile(l.path); err != nil {
		return remove(dirError("looking into", l.dir, err))
	}
	if err := unix.Listen(fd, backlog); err != nil {
		return remove(fmt.Errorf("listen: %w", err))
	}
	socket, err := net.FileListener(f)
	if err != nil {
		return remove(fmt.Errorf("listen: %w", err))
	}
	l.socket = socket.(*net.UnixListener)
	return nil
}

// Dir is the runtime directory.
func (l *Listener) Dir() string { return l.dir }

// Path is the path of the socket.
func (l *Listener) Path() string { return l.path }

// Shared reports whether the socket is open to the group camd.
func (l *Listener) Shared() bool { return l.shared }

// Accept waits for a client. After an error for which [IsTemporary] holds the
// caller waits a little and tries again; after Close it is net.ErrClosed.
func (l *Listener) Accept() (*Conn, error) {
	socket, err := l.socket.AcceptUnix()
	if err != nil {
		return nil, fmt.Errorf("accepting on %s: %w", l.path, cause(err))
	}
	c, err := newConn(socket, daemonSide)
	if err != nil { // that client's trouble, not the listener's
		return nil, fmt.Errorf("accepting on %s: %w: %w", l.path, unix.ECONNABORTED, err)
	}
	return c, nil
}

// Close ends Accept, removes the socket file if it is still this listener's,
// and gives the directory free. Connections live on. It may be called twice.
func (l *Listener) Close() error {
	l.closeOnce.Do(func() {
		// Removed before the lock goes, so that a new daemon's is never hit.
		if id, err := identifyFile(l.path); err == nil && id == l.inode {
			l.closeError = os.Remove(l.path)
		}
		l.closeError = errors.Join(l.closeError, l.socket.Close(), l.lock.Close())
	})
	return l.closeError
}

func identifyFile(path string) (fileID, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return fileID{}, err
	}
	return fileID{device: uint64(st.Dev), inode: st.Ino}, nil
}
