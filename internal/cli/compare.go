// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/internal/bench"
)

// errNothingInCommon: two sets of runs have no phase that both measured.
var errNothingInCommon = errors.New("nothing to compare")

func newCompare() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Hold two runs of bench or sweep against each other",
		Long: `Hold the results in directory A against those in B: mean, p50 and p99 of each
metric of each phase, the difference, and its 95 % confidence interval.

A and B are directories of one run each, or directories of several runs. With
two runs or more on both sides the intervals are between runs. Else they are
between batches of consecutive frames, and say nothing about what changes from
one start to the next; p99 has none then.`,
		Example: "  camsub compare results/bench-20261130-101500 results/bench-20261130-113000",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return Usagef("%s takes two directories, not %d: for example %s results/a results/b", cmd.CommandPath(), len(args), cmd.CommandPath())
			}
			return nil
		},
	}
	format := formatFlag(cmd, "text", "csv", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := bench.LoadRuns(args[0])
		if err != nil {
			return err
		}
		b, err := bench.LoadRuns(args[1])
		if err != nil {
			return err
		}
		n := &notes{out: cmd.ErrOrStderr(), program: cmd.Root().Name()}
		for _, text := range bench.Remarks(a, b) {
			n.say("%s", text)
		}
		differences := bench.Compare(a, b)
		if len(differences) == 0 {
			return fmt.Errorf("%w: %s and %s have no phase in common", errNothingInCommon, args[0], args[1])
		}
		out := cmd.OutOrStdout()
		switch format.value {
		case "csv":
			return bench.WriteComparison(out, differences)
		case "json":
			return printJSON(out, struct {
				Differences []bench.Difference `json:"differences"`
			}{differences})
		}
		_, err = fmt.Fprintln(out, bench.CompareTable(differences))
		return err
	}
	return cmd
}
