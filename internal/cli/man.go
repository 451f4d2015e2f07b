// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// NewManCommand is the command "man" of a program: its manual pages, in the
// format of man(7), made of the same texts as --help.
func NewManCommand(program string) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man [COMMAND]",
		Short: "Print a manual page, or write all of them",
		Long: fmt.Sprintf(`Without a COMMAND the page of %[1]s itself, to be read with "%[1]s man | man -l -".
With --dir every page is written there, as %[1]s.1, %[1]s-COMMAND.1; pages that
are there already are replaced.`, program),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if dir != "" {
				if len(args) > 0 {
					return Usagef("--dir writes every page, there was COMMAND %q besides", args[0])
				}
				return writePages(root, dir)
			}
			of, rest, err := root.Find(args)
			switch {
			case err != nil || of.Hidden:
				return unknownCommand(root, args)
			case len(rest) > 0:
				return Usagef("%s has no command %q", of.CommandPath(), rest[0])
			}
			page, err := manPage(of)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(page)
			return err
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, c := range cmd.Root().Commands() {
				if len(args) == 0 && c.IsAvailableCommand() {
					names = append(names, c.Name()+"\t"+c.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write all pages into this `folder`, which is made if need be")
	return cmd
}

// writePages writes a page for a program and each of its commands.
func writePages(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var visit func(c *cobra.Command) error
	visit = func(c *cobra.Command) error {
		page, err := manPage(c)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, pageName(c)+".1"), page, 0o644); err != nil {
			return err
		}
		for _, sub := range c.Commands() {
			if !sub.IsAvailableCommand() {
				continue
			}
			if err := visit(sub); err != nil {
				return err
			}
		}
		return nil
	}
	return visit(root)
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// undated is the date of pages of which the commit's is not known: none.
var undated = time.Unix(0, 0).UTC()

// manPage is the page of a command. It has no date but that of the commit, so
// that the same program always has the same pages.
func manPage(c *cobra.Command) ([]byte, error) {
	root := c.Root()
	v := ReadVersion(root.Name())
	h := &doc.GenManHeader{
		Title: strings.ToUpper(pageName(c)), Section: "1",
		Source: root.Name() + " " + v.Version, Manual: "camd", Date: &undated,
	}
	if t, err := time.Parse(time.RFC3339, v.Time); err == nil {
		h.Date = &t
	}
	c.DisableAutoGenTag = true
	var b bytes.Buffer
	if err := doc.GenMan(c, h, &b); err != nil {
		return nil, fmt.Errorf("manual page %s: %w", pageName(c), err)
	}
	return bytes.Replace(b.Bytes(), []byte(undated.Format(`"Jan 2006"`)), []byte(`""`), 1), nil
}
