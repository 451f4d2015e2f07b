// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-3c7e7623/camd/capture"
)

// UsageError is a command line that makes no sense. It wraps [ErrUsage].
type UsageError struct {
	Text string // what was asked, what would have been right
}

func (e *UsageError) Error() string { return e.Text }

// Unwrap makes errors.Is(e, ErrUsage) true.
func (e *UsageError) Unwrap() error { return ErrUsage }

// Usagef builds a UsageError.
func Usagef(format string, args ...any) error {
	return &UsageError{Text: fmt.Sprintf(format, args...)}
}

// prepare gives a command table the habits of both programs: help on stdout,
// errors printed once by Execute, wrong commands and flags named with the
// nearest right one.
func prepare(root *cobra.Command) {
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetFlagErrorFunc(flagError)
	root.Version = ReadVersion(root.Name()).String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.InitDefaultCompletionCmd() // keeps the output that is set now
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Args = unknownShell
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if found, _, err := root.Find(args); err != nil || found == root {
					return unknownCommand(root, args)
				}
				return nil
			}
		}
		completeFlags(c)
	}
	if root.Args == nil && root.HasSubCommands() {
		root.Args = unknownCommand
		if root.RunE == nil && root.Run == nil {
			root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// completeFlags offers the words of flags that take one of a few.
func completeFlags(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		var words []string
		switch v := f.Value.(type) {
		case *oneOf:
			words = v.words
		case *backends:
			words = backendNames
		default:
			return
		}
		// It fails only for a flag that is not there, or has its words already.
		_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	})
}

func unknownShell(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return Usagef("unknown shell %q%s; known are %s", args[0], didYouMean(args[0], names), strings.Join(names, ", "))
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return Usagef("unknown command %q%s; %q lists the commands", args[0], didYouMean(args[0], names), cmd.CommandPath()+" --help")
}

func flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	hint := fmt.Sprintf("; %q lists the flags", cmd.CommandPath()+" --help")
	var missing *pflag.NotExistError
	if errors.As(err, &missing) && missing.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		name := "--" + missing.GetSpecifiedName()
		return Usagef("unknown flag %s%s%s", name, didYouMean(name, names), hint)
	}
	return Usagef("%v%s", err, hint)
}

// didYouMean returns ", did you mean X?" for the candidate that begins with the
// word, or else the nearest one; "" if there is none.
func didYouMean(word string, candidates []string) string {
	i := slices.IndexFunc(candidates, func(c string) bool { return len(word) > 1 && strings.HasPrefix(c, word) })
	best := ""
	if i >= 0 {
		best = candidates[i]
	} else if best = capture.Nearest(word, candidates); best == "" {
		return ""
	}
	return ", did you mean " + best + "?"
}

// OneArg is a cobra.PositionalArgs for a command that takes exactly one thing.
func OneArg(what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return Usagef("which %s? For example: %s %s", what, cmd.CommandPath(), example)
		case len(args) > 1:
			return Usagef("%s takes one %s, not %d: %s", cmd.CommandPath(), what, len(args), strings.Join(args, " "))
		}
		return nil
	}
}

// NoArgs is a cobra.PositionalArgs for a command that takes flags only.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		hint := ""
		if cmd.Flags().Lookup("camera") != nil && strings.Contains(args[0], "=") {
			hint = ", did you mean --camera " + args[0] + "?"
		}
		return Usagef("%s takes no argument, there was %q%s", cmd.CommandPath(), args[0], hint)
	}
	return nil
}

// oneOf is a flag value that must be one of a few words.
type oneOf struct {
	value string
	words []string
}

func newOneOf(value string, words ...string) *oneOf { return &oneOf{value: value, words: words} }

func (o *oneOf) String() string { return o.value }
func (o *oneOf) Type() string   { return strings.Join(o.words, "|") }
func (o *oneOf) Set(s string) error {
	if !slices.Contains(o.words, s) {
		return fmt.Errorf("must be one of %s", strings.Join(o.words, ", "))
	}
	o.value = s
	return nil
}
