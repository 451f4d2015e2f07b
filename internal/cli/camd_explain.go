// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/internal/config"
	"github.com/seed-3c7e7623/camd/negotiate"
)

func newCamdExplain() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Show every setting with what set it",
		Long: `Show every setting that camd run would have with the same flags and
environment, and what set it: a flag, a CAMD_ variable of the environment, a line
of the file, for some keys a variable of ROS 2 or Zenoh (ROS_DOMAIN_ID), or what
is built in. The first of these that says something wins.`,
		Example: "  camd explain -c deploy/camd.yaml\n  camd explain --camera test=pattern --set log.level=debug --format json",
		Args:    NoArgs,
	}
	c := addConfigFlags(cmd)
	format := formatFlag(cmd, "text", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.load(cmd.Context())
		if err != nil {
			return err
		}
		for _, w := range cfg.Warnings {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: warning: %v\n", cmd.Root().Name(), w)
		}
		if dir, err := negotiate.DaemonDir(string(cfg.RuntimeDir)); err == nil && cfg.RuntimeDir == "" {
			builtInDir(cfg.Settings, dir)
		}
		if format.value == "json" {
			return printJSON(cmd.OutOrStdout(), cfg.Settings)
		}
		return writeSettings(cmd.OutOrStdout(), cfg.Settings)
	}
	return cmd
}

// builtInDir shows the directory that will be used in place of nothing.
func builtInDir(settings []config.Setting, dir string) {
	for i := range settings {
		if settings[i].Key == "runtime_dir" {
			settings[i].Value = dir
		}
	}
}

func writeSettings(w io.Writer, settings []config.Setting) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KEY\tVALUE\tSET BY")
	for _, s := range settings {
		fmt.Fprintf(t, "%s\t%s\t%s\n", s.Key, dash(s.Value), s.Set)
	}
	return t.Flush()
}
