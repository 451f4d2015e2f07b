// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Command camview shows a stream of camd, or a ROS 2 image topic, in a window.
package main

import (
	"os"
	"runtime"

	"github.com/seed-3c7e7623/camd/internal/cli"
)

// Windows belong to the thread on which the process began.
func init() { runtime.LockOSThread() }

func main() { os.Exit(run()) }

func run() int {
	if os.Getenv(probeVariable) != "" {
		return probe()
	}
	return cli.Main(newCommand())
}
