// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// buildVersion is set by the linker (-X) where the Makefile knows a version.
var buildVersion string

// Version describes the running binary.
type Version struct {
	Program  string `json:"program"`
	Version  string `json:"version"`            // "devel" when not known
	Revision string `json:"revision,omitempty"` // commit, where the build knew it
	Time     string `json:"time,omitempty"`     // of that commit, RFC 3339
	Modified bool   `json:"modified,omitempty"` // the checkout had changes
	Go       string `json:"go"`
	Platform string `json:"platform"` // "linux/amd64"
}

// ReadVersion reads what the Go toolchain stored in the binary.
func ReadVersion(program string) Version {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	return versionOf(program, buildVersion, info)
}

// versionOf prefers the linker's version to the module's, which a build in a
// checkout does not know.
func versionOf(program, linked string, info *debug.BuildInfo) Version {
	v := Version{
		Program: program, Version: info.Main.Version,
		Go: info.GoVersion, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if linked != "" {
		v.Version = linked
	}
	if v.Version == "" || v.Version == "(devel)" {
		v.Version = "devel"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// String is one line: program, version, revision, toolchain, platform.
func (v Version) String() string {
	rev := ""
	if v.Revision != "" {
		rev = " " + v.Revision[:min(12, len(v.Revision))]
		if v.Modified {
			rev += "+changes"
		}
	}
	return fmt.Sprintf("%s %s%s (%s, %s)", v.Program, v.Version, rev, v.Go, v.Platform)
}

// NewVersionCommand is the command "version" of a program.
func NewVersionCommand(program string) *cobra.Command {
	format := newOneOf("text", "text", "json")
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := ReadVersion(program)
			if format.value == "json" {
				return printJSON(cmd.OutOrStdout(), v)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), v)
			return err
		},
	}
	cmd.Flags().Var(format, "format", "output format")
	return cmd
}

// printJSON writes one indented document and a newline.
func printJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}
