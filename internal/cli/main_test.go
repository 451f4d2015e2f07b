// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// signalledVariable makes this test binary the program that is signalled; its
// value is how long a further signal counts as the first.
const signalledVariable = "CAMD_TEST_SIGNALLED"

const signalledLines = 1000

// signalledMain waits for a signal, gets another one at once and then prints.
func signalledMain(same string) int {
	d, err := time.ParseDuration(same)
	if err != nil {
		return ExitUsage
	}
	os.Args = os.Args[:1]
	return mainWith(&cobra.Command{Use: "signalled", RunE: func(cmd *cobra.Command, _ []string) error {
		fmt.Println("ready")
		<-cmd.Context().Done()
		for range 10 {
			if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
				return err
			}
		}
		if d == 0 { // until it kills
			for {
				if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
					return err
				}
			}
		}
		for i := range signalledLines {
			fmt.Println("line", i)
		}
		return cmd.Context().Err()
	}}, d)
}

// A signal that comes twice within a moment is one order to end; a later one
// kills.
func TestSignalTwice(t *testing.T) {
	for name, tc := range map[string]struct {
		same   string
		killed bool
		lines  int
	}{
		"together": {"1h", false, signalledLines},
		"later":    {"0", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), signalledVariable+"="+tc.same)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			in := bufio.NewReader(out)
			if line, err := in.ReadString('\n'); line != "ready\n" {
				t.Errorf("it began with %q, %v", line, err)
			}
			for range 2 {
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Error(err)
				}
			}
			rest, err := io.ReadAll(in)
			if err != nil {
				t.Error(err)
			}
			_ = cmd.Wait() // what it says is looked at below
			status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !ok || status.Signaled() != tc.killed || !tc.killed && status.ExitStatus() != ExitOK {
				t.Errorf("it ended with %v", cmd.ProcessState)
			}
			if n := strings.Count(string(rest), "\n"); n != tc.lines {
				t.Errorf("%d lines, want %d", n, tc.lines)
			}
		})
	}
}
