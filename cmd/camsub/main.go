// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Command camsub subscribes to camera streams: it lists, measures and reads them.
package main

import (
	"os"

	"github.com/seed-3c7e7623/camd/internal/cli"
)

func main() { os.Exit(cli.Main(cli.NewCamsub())) }
