// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/seed-3c7e7623/camd/adapters/gocv/camview/highgui"
)

// ErrNoDisplay: there is no display to open a window on.
var ErrNoDisplay = errors.New("no display")

// probeVariable makes this program only connect to the display. Where it cannot,
// Qt ends a process by abort, which is nothing to do to one that has a stream.
const probeVariable = "CAMVIEW_PROBE"

// probeWait bounds the answer of a display that hangs.
const probeWait = 15 * time.Second

func probe() int {
	if err := highgui.Display(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// checkDisplay has another process connect to the display.
func checkDisplay(ctx context.Context) error {
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" && os.Getenv("QT_QPA_PLATFORM") == "" {
		return fmt.Errorf("%w: DISPLAY is not set; over ssh that takes ssh -X, and without a screen --snapshot FILE writes a frame", ErrNoDisplay)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoDisplay, err)
	}
	limited, cancel := context.WithTimeout(ctx, probeWait)
	defer cancel()
	cmd := exec.CommandContext(limited, self)
	// A process that ends by abort must not leave its memory on the disk, nor its
	// goroutines on the screen.
	cmd.Env = append(os.Environ(), probeVariable+"=1", "GOTRACEBACK=none")
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return fmt.Errorf("%w: DISPLAY=%s does not answer for %v", ErrNoDisplay, os.Getenv("DISPLAY"), probeWait)
	case err != nil:
		return fmt.Errorf("%w at DISPLAY=%s: %s (%w)", ErrNoDisplay, os.Getenv("DISPLAY"), firstLine(string(out)), err)
	}
	return nil
}

// firstLine is the first line that says something about the display.
func firstLine(text string) string {
	first := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "display") {
			return line
		}
		if first == "" {
			first = line
		}
	}
	return first
}
