// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
)

// orphanEnv makes the test binary a program that replays for ever.
const orphanEnv = "CAMD_TEST_REPLAY"

func orphanMain() {
	spec, err := capture.ParseSpec(os.Getenv(orphanEnv))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s, err := New(spec)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	told := false
	sink := &capturetest.Sink{OnFrame: func(capturetest.Frame) {
		if !told {
			told = true
			fmt.Println("running")
		}
	}}
	fmt.Fprintln(os.Stderr, s.Run(context.Background(), sink))
}

func TestNoOrphanAfterKill(t *testing.T) {
	needFFmpeg(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), orphanEnv+"=c=replay:testsrc2=s=64x48:r=50,input.f=lavfi")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "running\n" {
		t.Fatalf("%q, %v", line, err)
	}
	pids := children(t, cmd.Process.Pid)
	if len(pids) == 0 {
		t.Fatal("it has no child")
	}
	fds := make([]int, 0, len(pids))
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		fds = append(fds, fd)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it was not killed")
	}
	for i, fd := range fds {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			n, err := unix.Poll(p, 10_000)
			if err == unix.EINTR {
				continue
			}
			if err != nil || n != 1 {
				t.Errorf("child %d is still there: %d, %v", pids[i], n, err)
			}
			break
		}
	}
}
