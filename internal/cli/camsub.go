// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/spf13/cobra"

// NewCamsub is the command table of camsub.
func NewCamsub() *cobra.Command { return newCamsub(realWorld()) }

func newCamsub(w world) *cobra.Command {
	root := &cobra.Command{
		Use:   "camsub",
		Short: "Subscribe to camera streams: list, measure, read",
		Long: `camsub subscribes to the streams of camd on this host, and to ROS 2 image topics
over Zenoh. A STREAM is camera/stream, as in front/color, or with a slash in
front the name of a topic, as in /front/color/image_raw.

Results go to stdout; what happens (the path by which frames come, and why not a
better one) goes to stderr.

Exit codes: 0 done, or stopped by a signal; 1 failed; 2 wrong command line;
4 stream, camd or Zenoh router not found, or gone; 5 required backend not available, or not
permitted; 6 no frame for --timeout.`,
	}
	streaming := []*cobra.Command{newHz(w), newBw(w), newDelay(w), newLatency(w), newEcho(w), newCat(w), newSnapshot(w), newBench(w)}
	root.AddCommand(newList(w), newInfo(w))
	root.AddCommand(streaming...)
	root.AddCommand(newSweep(w), newSweepPart(), newCompare())
	root.AddCommand(NewVersionCommand("camsub"), NewManCommand("camsub"))
	return root
}
