// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/spf13/cobra"

// NewCamd is the command table of camd.
func NewCamd() *cobra.Command {
	root := &cobra.Command{
		Use:   "camd",
		Short: "Capture cameras once and share the frames without copying",
		Long: `camd owns the cameras of this host and hands each frame to every subscriber
through shared memory. camsub is the other side.

Exit codes: 0 stopped by a signal, or every camera came to its end; 1 failed;
2 wrong command line; 3 wrong configuration; 4 device or camd not found;
5 not permitted.`,
	}
	root.AddCommand(newCamdRun(), newCamdCheck(), newCamdExplain(), newCamdDevices(hostDevices()), newCamdFormats(hostDevices()), newCamdStatus(), NewVersionCommand("camd"), NewManCommand("camd"))
	return root
}
