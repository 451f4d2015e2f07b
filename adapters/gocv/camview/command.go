// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	cvmat "github.com/seed-3c7e7623/camd/adapters/gocv"
	"github.com/seed-3c7e7623/camd/internal/cli"
)

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "camview STREAM",
		Short: "Show a camera stream in a window",
		Long: `camview shows a stream of camd, or a ROS 2 image topic over Zenoh, in a window. A
STREAM is camera/stream, as in front/color, host:camera/stream, or with a slash in
front the name of a topic, as in /front/color/image_raw.

Keys: s saves the picture as a PNG beside what is there, p or space stops it and
goes on, n shows the next of the streams that camsub list lists, o shows and hides
the figures, q or Esc ends, and so does closing the window.

Exit codes: 0 done, or stopped by a signal; 1 failed, also without a display; 2
wrong command line; 4 stream, camd or Zenoh router not found, or gone; 5 required
backend not available, or not permitted; 6 no frame for --timeout.`,
		Example: `  camview front/color
  camview /front/color/image_raw
  camview front/depth --near 0.5 --far 4
  camview front/color --snapshot front.png`,
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	file := fs.String("snapshot", "", "write one frame to this `file` (.png, .jpg) and end, without a window")
	folder := fs.String("folder", ".", "`folder` for what the key s saves")
	near := fs.Float64("near", cvmat.DefaultNear, "distance in `metres` that is shown red, of depth")
	far := fs.Float64("far", cvmat.DefaultFar, "distance in `metres` that is shown blue")
	bare := fs.Bool("no-overlay", false, "begin without the figures")
	v := cli.AddViewing(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d := distances{*near, *far}
		if !(d.near >= 0 && d.far > d.near) {
			return cli.Usagef("--near %g --far %g: must be distances, the second one farther", d.near, d.far)
		}
		if fs.Changed("snapshot") {
			said, err := snapshot(cmd.Context(), v, args[0], *file, d)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
			return err
		}
		if info, err := os.Stat(*folder); err != nil || !info.IsDir() {
			return cli.Usagef("--folder %s: is no folder", *folder)
		}
		view := &viewer{
			viewing: v, stdout: cmd.OutOrStdout(), folder: *folder, distances: d, overlay: !*bare,
		}
		return view.open(cmd.Context(), args[0])
	}
	return cmd
}

// open looks for the stream and for the display at the same time, and shows the
// one on the other.
func (v *viewer) open(ctx context.Context, stream string) error {
	if d := v.viewing.Duration(); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, context.Canceled)
		defer cancel()
	}
	first, cancel := limited(ctx, v.viewing)
	defer cancel()
	display := make(chan error, 1)
	go func() { display <- checkDisplay(first) }()
	f, err := openFeed(first, v.viewing, stream)
	noDisplay := <-display
	switch {
	case err != nil:
		return causeOf(first, err)
	case noDisplay != nil:
		return errors.Join(causeOf(first, noDisplay), f.close())
	}
	cancel()
	v.feed = f
	return v.run(ctx)
}
