// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Each command has a page, with all of its flags, which is the same each time.
func TestManPages(t *testing.T) {
	for _, table := range []func() *cobra.Command{NewCamd, NewCamsub} {
		dir := filepath.Join(t.TempDir(), "made", "here")
		var stdout, stderr bytes.Buffer
		root := table()
		if code := Execute(t.Context(), root, []string{"man", "--dir", dir}, &stdout, &stderr); code != 0 || stdout.Len()+stderr.Len() > 0 {
			t.Fatalf("exit code %d: %s%s", code, stdout.String(), stderr.String())
		}
		pages := 0
		var visit func(c *cobra.Command)
		visit = func(c *cobra.Command) {
			page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
			if err != nil {
				t.Error(err)
			}
			pages++
			if !bytes.Contains(page, []byte(".TH ")) || bytes.Contains(page, []byte("1970")) {
				t.Errorf("%s has the page %q", c.CommandPath(), page)
			}
			c.Flags().VisitAll(func(f *pflag.Flag) {
				if !f.Hidden && !bytes.Contains(page, []byte("--"+f.Name)) {
					t.Errorf("the page of %s lacks --%s", c.CommandPath(), f.Name)
				}
			})
			for _, sub := range c.Commands() {
				if sub.IsAvailableCommand() {
					visit(sub)
				}
			}
			if c.Parent() == nil || c.Parent().Parent() != nil {
				return
			}
			var again bytes.Buffer
			if code := Execute(t.Context(), table(), []string{"man", c.Name()}, &again, &stderr); code != 0 || !bytes.Equal(again.Bytes(), page) {
				t.Errorf("man %s: exit code %d %s, or another page than in the folder", c.Name(), code, stderr.String())
			}
		}
		visit(root)
		if files, err := os.ReadDir(dir); err != nil || len(files) != pages || pages < 8 {
			t.Errorf("%d files for %d commands, error %v", len(files), pages, err)
		}
	}
}

func TestManMisuse(t *testing.T) {
	for _, args := range [][]string{{"man", "nix"}, {"man", "hz", "bw"}, {"man", "sweep-part"}, {"man", "hz", "--dir", t.TempDir()}} {
		if code, stdout, stderr := newFake(t).run(t, args...); code != ExitUsage || stdout != "" || !strings.HasPrefix(stderr, "camsub: ") {
			t.Errorf("%v: exit code %d, %q, %q", args, code, stdout, stderr)
		}
	}
	if code, _, stderr := newFake(t).run(t, "man", "--dir", filepath.Join(os.DevNull, "x")); code != ExitFailure || !strings.Contains(stderr, "not a directory") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}
