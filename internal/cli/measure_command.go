// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"
)

// measureFlags are the flags that hz, bw, delay, latency and cat share.
type measureFlags struct {
	path   *pathFlags
	limits *limitFlags
}

func addMeasureFlags(cmd *cobra.Command) *measureFlags {
	fs := cmd.Flags()
	fs.SortFlags = false
	return &measureFlags{limits: addLimitFlags(fs), path: addPathFlags(fs)}
}

// complete offers the names of streams where cmd takes one.
func (m *measureFlags) complete(w world, cmd *cobra.Command) {
	cmd.ValidArgsFunction = completeStream(w, m.path.placeFlags)
}

// runner builds the runner for a command, or fails with a usage error.
func (m *measureFlags) runner(w world, cmd *cobra.Command, asked string, meter meter) (*runner, error) {
	opts, err := m.path.options(cmd.CommandPath(), cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	return &runner{
		world: m.path.world(w, cmd.ErrOrStderr()), asked: asked, stream: asked, limits: m.limits, found: m.path.found(), opts: opts,
		stdout: cmd.OutOrStdout(), notes: &notes{out: cmd.ErrOrStderr(), program: cmd.Root().Name()},
		meter: meter,
	}, nil
}

const streamExample = "test/color"
