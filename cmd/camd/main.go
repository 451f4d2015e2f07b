// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Command camd is the capture daemon: it owns the cameras of one host and hands
// each frame to every subscriber without a copy.
package main

import (
	"os"

	"github.com/seed-3c7e7623/camd/internal/cli"
)

func main() { os.Exit(cli.Main(cli.NewCamd())) }
