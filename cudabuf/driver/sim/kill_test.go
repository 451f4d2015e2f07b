// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"bufio"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
)

// TestKilled kills processes anywhere in their use of memory: none of it may
// stay, and none of the others may be blamed or stopped.
func TestKilled(t *testing.T) {
	env, dir := sim.Env(t, sim.Options{Delay: sim.Uniform, DelayMicros: 500, Extra: []string{"CUDASIM_COST=0"}})
	for round := range 4 {
		var all sync.WaitGroup
		for i := range 3 {
			cmd := exec.Command(program(t), "churn")
			cmd.Env = append(os.Environ(), env...)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				lines := bufio.NewScanner(out)
				for n := 0; n < 1+i+round && lines.Scan(); n++ {
				}
				if err := cmd.Process.Kill(); err != nil {
					t.Errorf("it ended by itself: %v", err)
				}
				if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
					t.Errorf("ended before it was killed: %v", err)
				}
			})
		}
		all.Wait()
	}
	if n := sim.Memory(t, dir); n != 0 {
		t.Errorf("%d bytes of dead processes", n)
	}
	sim.Clean(t, dir)
	if n := len(sim.Processes(t, dir)); n != 12 {
		t.Errorf("%d processes", n)
	}
}

// TestStopped stops a process anywhere in its use of memory: the other one
// must go on.
func TestStopped(t *testing.T) {
	env, dir := sim.Env(t, sim.Options{})
	var processes [2]*exec.Cmd
	var lines [2]*bufio.Scanner
	for i := range processes {
		cmd := exec.Command(program(t), "churn")
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}()
		processes[i], lines[i] = cmd, bufio.NewScanner(out)
	}
	for round := range 20 {
		stopped, other := round%2, 1-round%2
		if !lines[stopped].Scan() {
			t.Fatal("it ended by itself")
		}
		if err := processes[stopped].Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if !lines[other].Scan() {
				t.Fatal("the other one ended")
			}
		}
		if err := processes[stopped].Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	sim.Clean(t, dir)
}
