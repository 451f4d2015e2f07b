// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const usage = `Usage: camsub-plot DIR...

Draws the pictures of runs of camsub bench or sweep, PNG and SVG, into the
folders of the runs. What is there is not drawn again.
`

func main() { os.Exit(command(os.Args[1:], os.Stdout, os.Stderr)) }

// command is the program: 0 done, 1 failed, 2 wrong command line.
func command(args []string, stdout, stderr io.Writer) int {
	for _, a := range args {
		if a == "-h" || a == "--help" {
			fmt.Fprint(stdout, usage)
			return 0
		}
		if strings.HasPrefix(a, "-") {
			fmt.Fprintf(stderr, "camsub-plot: unknown flag %s\n%s", a, usage)
			return 2
		}
	}
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return 2
	}
	var errs []error
	for _, dir := range args {
		if err := drawRun(dir); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", dir, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintf(stderr, "camsub-plot: %v\n", err)
		return 1
	}
	return 0
}

// drawRun draws what there is to draw of a run.
func drawRun(dir string) error {
	r, err := readRun(dir)
	if err != nil {
		return err
	}
	pictures, err := r.pictures()
	if err != nil {
		return err
	}
	if len(pictures) == 0 {
		return errors.New("nothing was measured that could be drawn")
	}
	for _, p := range pictures {
		if err := p.write(dir); err != nil {
			return err
		}
	}
	return nil
}
