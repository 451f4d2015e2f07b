// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// other is another process of a test.
type other struct {
	*exec.Cmd
	said string // its first line
	end  io.Closer
}

// startOther runs a helper on dir, as another user if uid is not 0, until it
// has said its first line.
func startOther(t *testing.T, name, dir string, uid int) *other {
	t.Helper()
	o := &other{Cmd: exec.CommandContext(t.Context(), os.Args[0])}
	// The race detector would wait a second at each exit.
	o.Env = append(os.Environ(), helperVariable+"="+name, RuntimeDirVariable+"="+dir, "GORACE=atexit_sleep_ms=0")
	o.Stderr = os.Stderr
	if uid != 0 {
		if os.Geteuid() != 0 {
			t.Skip("needs root to become another user")
		}
		o.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid), Groups: []uint32{}}}
		// The test binary may lie where only root comes: run it by descriptor.
		self, err := os.Open("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		defer self.Close()
		o.ExtraFiles = []*os.File{self}
		o.Path = "/proc/self/fd/3"
		o.Dir = "/"
	}
	stdin, err := o.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	o.end = stdin
	stdout, err := o.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Process.Kill(); _ = o.Wait() })
	o.said, err = bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the other process said %q: %v", o.said, err)
	}
	return o
}

func (o *other) kill(t *testing.T) {
	t.Helper()
	if err := o.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = o.Wait() // reports the signal
}

// say tells the test what happened and lives until the test lets go.
func say(err error) error {
	word := "ok"
	for _, e := range []error{ErrInUse, ErrPermissionDenied, ErrSocketUnreachable, ErrUnsafeDir, ErrPath} {
		if errors.Is(err, e) {
			word = e.Error() + ": " + err.Error()
			break
		}
	}
	if err != nil && word == "ok" {
		return err
	}
	if _, err := fmt.Println(word); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func helperListen(dir string) error {
	l, err := Listen(dir)
	if err == nil {
		defer l.Close()
	}
	return say(err)
}

func helperConnect(dir string) error {
	c, err := Dial(context.Background(), dir)
	if err == nil {
		defer c.Close()
		err = c.Send(validHello())
	}
	return say(err)
}

// helperLeave connects, gives the connection to a child and ends at once.
func helperLeave(dir string) error {
	c, err := Dial(context.Background(), dir)
	if err != nil {
		return err
	}
	socket, err := c.socket.File()
	if err != nil {
		return err
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), helperVariable+"=hold")
	child.Stdin = os.Stdin
	child.ExtraFiles = []*os.File{socket}
	if err := child.Start(); err != nil {
		return err
	}
	_, err = fmt.Println("ok")
	return err
}

// helperHold keeps what it inherited until the test lets go.
func helperHold(string) error {
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// exhaustFiles leaves this process without a free descriptor until release.
func exhaustFiles(t *testing.T) (release func()) {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	// Above every descriptor in use.
	entries, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	low := unix.Rlimit{Cur: uint64(len(entries) + 64), Max: old.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	var fds []int
	for {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		fds = append(fds, fd)
	}
	done := false
	release = func() {
		if done {
			return
		}
		done = true
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(release)
	return release
}
