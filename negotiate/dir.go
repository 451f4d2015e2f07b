// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// SocketName is the one file in a runtime directory.
const SocketName = "camd.sock"

// maxSocketPath is what sun_path holds before its final zero byte (unix(7)).
const maxSocketPath = 107

// RuntimeDirVariable names the environment variable of the runtime directory.
const RuntimeDirVariable = "CAMD_RUNTIME_DIR"

// Environment is what the search for a runtime directory depends on. Programs
// use the package's functions, which take it from the process.
type Environment struct {
	Getenv func(string) string
	UID    int    // effective user
	Run    string // "/run"
	Temp   string // "/tmp", whatever $TMPDIR says: both sides must agree
}

func processEnvironment() Environment {
	return Environment{Getenv: os.Getenv, UID: os.Geteuid(), Run: "/run", Temp: "/tmp"}
}

// DaemonDir is the runtime directory that a daemon of this process serves: the
// first of flag, $CAMD_RUNTIME_DIR, /run/camd for root, $XDG_RUNTIME_DIR/camd
// if that variable names a directory of this user, and /tmp/camd-<uid>. The
// path is absolute. It fails with [ErrPath] when no socket path fits.
func DaemonDir(flag string) (string, error) { return processEnvironment().DaemonDir(flag) }

// ClientDirs are the runtime directories where a client looks for daemons, in
// this order: $CAMD_RUNTIME_DIR, /run/camd, $XDG_RUNTIME_DIR/camd,
// /tmp/camd-<uid>. All that answer count. With flag it is only that one.
func ClientDirs(flag string) []string { return processEnvironment().ClientDirs(flag) }

// DaemonDir is the function of that name for another environment.
func (e Environment) DaemonDir(flag string) (string, error) {
	dir := e.fallback()
	switch {
	case flag != "":
		dir = flag
	case e.Getenv(RuntimeDirVariable) != "":
		dir = e.Getenv(RuntimeDirVariable)
	case e.UID == 0:
		dir = filepath.Join(e.Run, "camd")
	case e.xdgUsable():
		dir = e.xdg()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("%w %q: %w", ErrPath, dir, err)
	}
	if _, err := socketPath(dir); err != nil {
		return "", err
	}
	return dir, nil
}

// ClientDirs is the function of that name for another environment.
func (e Environment) ClientDirs(flag string) []string {
	wanted := []string{e.Getenv(RuntimeDirVariable), filepath.Join(e.Run, "camd"), e.xdg(), e.fallback()}
	if flag != "" {
		wanted = []string{flag}
	}
	var dirs []string
	for _, dir := range wanted {
		if dir == "" {
			continue
		}
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func (e Environment) xdg() string {
	base := e.Getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(base) { // "" too; relative ones are invalid (XDG Base Directory Specification)
		return ""
	}
	return filepath.Join(base, "camd")
}

// xdgUsable is false after su or sudo that kept another user's variable.
func (e Environment) xdgUsable() bool {
	if e.xdg() == "" {
		return false
	}
	info, err := os.Stat(e.Getenv("XDG_RUNTIME_DIR"))
	return err == nil && info.IsDir() && owner(info) == e.UID
}

func (e Environment) fallback() string {
	return filepath.Join(e.Temp, "camd-"+strconv.Itoa(e.UID))
}

// check refuses the fallback directory when another user could have prepared
// it, since anyone can make names in /tmp. Directories that were asked for, and
// those in places where only their owner can make them, need no check. A
// directory that does not exist passes.
func (e Environment) check(dir string) error {
	if dir != e.fallback() {
		return nil
	}
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnsafeDir, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%w: %s is a symbolic link", ErrUnsafeDir, dir)
	case !info.IsDir():
		return fmt.Errorf("%w: %s is no directory", ErrUnsafeDir, dir)
	case owner(info) != e.UID:
		return fmt.Errorf("%w: %s belongs to user %d, not to %d: remove it, or name another one with --runtime-dir", ErrUnsafeDir, dir, owner(info), e.UID)
	}
	return nil
}

func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// socketPath is the path of the socket in dir.
func socketPath(dir string) (string, error) {
	path := filepath.Join(dir, SocketName)
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("%w %s: the socket path has %d bytes, the kernel takes at most %d: choose a shorter directory", ErrPath, dir, len(path), maxSocketPath)
	}
	return path, nil
}
