// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// sameOrder is how long a further signal counts as the first one: timeout(1)
// and terminals signal a process and its group, which is one order to end.
const sameOrder = time.Second

// Main runs a command table with the arguments and signals of the process and
// returns the exit code. The first SIGINT or SIGTERM cancels the command's
// context, so that it ends cleanly; one that comes more than a second later
// kills as usual. A reader of stdout that goes away ends the command quietly.
func Main(root *cobra.Command) int { return mainWith(root, sameOrder) }

func mainWith(root *cobra.Command, same time.Duration) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// Signals stay caught after the end of the command: the process ends then
	// anyway, and the rest of an order must not change its exit code.
	context.AfterFunc(ctx, func() { time.AfterFunc(same, stop) })
	// Caught, though never read: a write to a closed pipe then fails with
	// EPIPE in place of killing the process. Unlike signal.Ignore this is not
	// inherited by child processes.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return Execute(ctx, root, os.Args[1:], os.Stdout, os.Stderr)
}

// Execute runs a command table with the given arguments and outputs and
// returns the exit code. It prints the error, if any, as "NAME: ERROR".
func Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	prepare(root)
	err := root.ExecuteContext(ctx)
	code := ExitCode(err)
	if code != ExitOK {
		said := make(chan struct{})
		go func() { // stderr may be stuck, and the process is to end
			defer close(said)
			fmt.Fprintf(stderr, "%s: %s\n", root.Name(), errorText(err))
		}()
		select {
		case <-said:
		case <-time.After(logFlush):
		}
	}
	return code
}

// errorText is the message without the word that only chooses the exit code.
func errorText(err error) string {
	var usage *UsageError
	if errors.As(err, &usage) {
		return usage.Error()
	}
	return strings.TrimRight(err.Error(), "\n")
}
