// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// foundStream is a stream and the daemon that has it.
type foundStream struct {
	negotiate.StreamInfo
	Dir string `json:"dir"` // the daemon's runtime directory
}

func streamsOf(daemons []client.Daemon) []foundStream {
	var out []foundStream
	for _, d := range daemons {
		for _, s := range d.Streams {
			out = append(out, foundStream{StreamInfo: s, Dir: d.Dir})
		}
	}
	return out
}

func namesOf(streams []foundStream) []string {
	names := make([]string, 0, len(streams))
	for _, s := range streams {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// streamName is the stream that an argument means. Users of ROS write the slash
// of a topic before it, which no name of a camera has.
func streamName(arg string) string { return strings.TrimPrefix(arg, "/") }

// unknownStream says which streams there are. It wraps client.ErrUnknownStream.
func unknownStream(stream string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("%w %q: camd runs, but has no streams", client.ErrUnknownStream, stream)
	}
	return fmt.Errorf("%w %q%s\nknown are: %s", client.ErrUnknownStream, stream, didYouMean(streamName(stream), known), strings.Join(known, ", "))
}

// explainUnknown adds the names of known streams to an error that says that a
// stream is unknown; other errors pass.
func explainUnknown(ctx context.Context, w world, stream, dir string, err error) error {
	if !errors.Is(err, client.ErrUnknownStream) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var known []string
	if refused := new(client.RefusedError); errors.As(err, &refused) {
		known = refused.Refusal.Known
	}
	if daemons, listErr := w.list(ctx, dirOption(dir)...); listErr == nil && len(known) == 0 {
		known = namesOf(streamsOf(daemons))
	}
	return unknownStream(stream, known)
}

// completeStream offers the names of streams to the shell.
func completeStream(w world) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		dir := ""
		if f := cmd.Flags().Lookup("runtime-dir"); f != nil {
			dir = f.Value.String()
		}
		daemons, err := w.list(ctx, dirOption(dir)...)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return namesOf(streamsOf(daemons)), cobra.ShellCompDirectiveNoFileComp
	}
}
