// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package linux

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// connectedHelper starts another process that connects to a socket of this
// one, and returns this end of the connection.
func connectedHelper(t *testing.T, credential *syscall.Credential) (fd int, pid int, end func()) {
	t.Helper()
	pair, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(pair) })
	// An abstract name needs no permissions.
	if err := unix.Bind(pair, &unix.SockaddrUnix{Name: ""}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(pair, 1); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(pair)
	if err != nil {
		t.Fatal(err)
	}
	cmd := helper(t, "connect")
	cmd.Env = append(cmd.Env, "CAMD_LINUX_TEST_SOCKET="+name.(*unix.SockaddrUnix).Name)
	cmd.Stderr = os.Stderr
	if credential != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
		// The test binary may lie where only root comes: run it by descriptor.
		self, err := os.Open("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = self.Close() })
		cmd.ExtraFiles = []*os.File{self}
		cmd.Path = "/proc/self/fd/3"
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fd, _, err = unix.Accept(pair)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd, cmd.Process.Pid, func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the other process: %v", err)
		}
	}
}

// helperConnect connects and lives until its standard input ends.
func helperConnect() error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: os.Getenv("CAMD_LINUX_TEST_SOCKET")}); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func TestPeerIsAnotherProcess(t *testing.T) {
	fd, pid, end := connectedHelper(t, nil)
	defer end()
	got, err := PeerOf(fd)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Peer{PID: pid, UID: os.Geteuid(), GID: os.Getegid()}); got != want {
		t.Errorf("peer %+v, want %+v", got, want)
	}
	if !ProcessAlive(pid) {
		t.Errorf("process %d is said to be dead", pid)
	}
}

func TestPeerGroups(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user")
	}
	for _, n := range []int{0, 1, 64, 65, 1500} {
		t.Run(fmt.Sprintf("%d groups", n), func(t *testing.T) {
			want := make([]int, 0, n)
			cred := &syscall.Credential{Uid: 12345, Gid: 23456, Groups: []uint32{}}
			for i := range n {
				want = append(want, 100000+i)
				cred.Groups = append(cred.Groups, uint32(100000+i))
			}
			fd, _, end := connectedHelper(t, cred)
			defer end()
			peer, err := PeerOf(fd)
			if err != nil {
				t.Fatal(err)
			}
			if peer.UID != 12345 || peer.GID != 23456 {
				t.Errorf("peer %+v", peer)
			}
			got, err := PeerGroups(fd)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%d groups, want %d", len(got), len(want))
			}
		})
	}
}

func TestPeerPIDFD(t *testing.T) {
	fd, pid, end := connectedHelper(t, nil)
	pidfd, err := PeerPIDFD(fd)
	if errors.Is(err, unix.ENOPROTOOPT) {
		end()
		t.Skip("this kernel has no SO_PEERPIDFD (6.5)")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pidfd)
	if flags, err := unix.FcntlInt(uintptr(pidfd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("process descriptor is not close-on-exec: %v %v", flags, err)
	}
	if Exited(pidfd) {
		t.Error("a living process is said to have exited")
	}
	end()
	if !Exited(pidfd) {
		t.Error("a dead process is said to live")
	}
	if ProcessAlive(pid) {
		t.Errorf("process %d is said to live", pid)
	}
}

func TestExitedWithoutProcess(t *testing.T) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(p[0])
	_ = unix.Close(p[1])
	for _, fd := range []int{p[0], -1} {
		if Exited(fd) {
			t.Errorf("closed descriptor %d is said to be an exited process", fd)
		}
	}
}

func TestPeerOfNoSocket(t *testing.T) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	if _, err := PeerOf(p[0]); !errors.Is(err, unix.ENOTSOCK) {
		t.Errorf("PeerOf: %v", err)
	}
	if _, err := PeerGroups(p[0]); !errors.Is(err, unix.ENOTSOCK) {
		t.Errorf("PeerGroups: %v", err)
	}
	if _, err := PeerPIDFD(p[0]); !errors.Is(err, unix.ENOTSOCK) {
		t.Errorf("PeerPIDFD: %v", err)
	}
}

func TestProcessNames(t *testing.T) {
	if got := Command(os.Getpid()); got == "" || !strings.HasPrefix("linux.test", got) {
		t.Errorf("this process is called %q", got)
	}
	if got := Command(-1); got != "" {
		t.Errorf("no process is called %q", got)
	}
	if ProcessAlive(0) || ProcessAlive(-1) {
		t.Error("process 0 or -1 is said to live")
	}
	if got := BootID(); len(got) != 36 || got != BootID() {
		t.Errorf("boot id %q", got)
	}
}
