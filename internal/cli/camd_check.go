// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/internal/config"
	zenoh "github.com/seed-3c7e7623/camd/zenoh/config"
)

// configFlags are the flags of the commands that read the configuration.
type configFlags struct {
	file    string
	set     []string
	cameras []string
	flags   *pflag.FlagSet
	logs    *LogFlags
}

// daemonFlags are the flags that stand for keys.
var daemonFlags = map[string]string{
	"runtime-dir": "runtime_dir", "allow-uid": "allow_uids", "log-level": "log.level", "log-format": "log.format",
}

func addConfigFlags(cmd *cobra.Command) *configFlags {
	c := &configFlags{flags: cmd.Flags()}
	c.flags.StringVarP(&c.file, "config", "c", "", "configuration `file`, YAML; deploy/camd.yaml explains every key")
	c.flags.StringArrayVar(&c.set, "set", nil, "set one `key=value` of the configuration, cameras.front.rate=15; may be given again")
	c.flags.StringArrayVar(&c.cameras, "camera", nil, "a `camera`: NAME=KIND[:TARGET][,WxH@R][,key=value...]; may be given again")
	c.flags.Var(new(directory), "runtime-dir", "`directory` of the socket (default $CAMD_RUNTIME_DIR, /run/camd for root, $XDG_RUNTIME_DIR/camd, /tmp/camd-<uid>)")
	c.flags.StringSlice("allow-uid", nil, "`users` to serve, by number or name, besides this one, root and the group camd")
	c.logs = AddLogFlags(c.flags, "info")
	return c
}

// load puts file, environment and flags together. Flags that were not given do
// not count: their keys may be set elsewhere.
func (c *configFlags) load(ctx context.Context) (*config.Config, error) {
	for _, text := range c.cameras {
		if _, err := capture.ParseSpec(text); err != nil {
			// What cannot be read is a wrong command line; what can, but makes
			// no sense, is a wrong configuration.
			return nil, Usagef("--%s", strings.TrimPrefix(err.Error(), capture.ErrConfig.Error()+": "))
		}
	}
	for _, text := range c.set {
		if key, _, ok := strings.Cut(text, "="); !ok || key == "" {
			return nil, Usagef("--set %s: want key=value, for example log.level=debug", text)
		}
	}
	in := config.Input{Environ: os.Environ(), Cameras: c.cameras, Set: c.set}
	if err := in.ReadFile(ctx, c.file); err != nil {
		return nil, err
	}
	c.flags.Visit(func(f *pflag.Flag) {
		if key, ok := daemonFlags[f.Name]; ok {
			text := f.Value.String()
			if list, ok := f.Value.(pflag.SliceValue); ok {
				text = strings.Join(list.GetSlice(), ",")
			}
			in.Flags = append(in.Flags, config.FlagValue{Flag: "--" + f.Name, Key: key, Value: text})
		}
	})
	return config.Load(in)
}

// warnings logs what makes less sense than was meant.
func warnings(log *slog.Logger, cfg *config.Config) {
	for _, w := range cfg.Warnings {
		log.Warn("configuration", "place", w.Where.String(), "err", w.Text)
	}
}

func newCamdCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check a configuration and say every problem in it",
		Long: `Check the configuration that camd run would have with the same flags and
environment. No device is opened and nothing is connected to; the files that it
names, of Zenoh's settings and of calibrations, are read. Exit code 0 if it is fine, 3 if not; each
problem is printed with line, column and, where there is one, the key that was
probably meant.`,
		Example: "  camd check -c deploy/camd.yaml\n  camd check -c camd.yaml --set cameras.front.rate=15",
		Args:    NoArgs,
	}
	c := addConfigFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.load(cmd.Context())
		if err != nil {
			return err
		}
		for _, w := range cfg.Warnings {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: warning: %v\n", cmd.Root().Name(), w)
		}
		if err := cmp.Or(cfg.CheckFiles(), cfg.CheckLibrary()); err != nil {
			return err
		}
		for _, n := range zenohNotes(cfg) {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: note: %v\n", cmd.Root().Name(), n)
		}
		_, err = io.WriteString(cmd.OutOrStdout(), checkText(c.file, cfg))
		return err
	}
	return cmd
}

// zenohNotes lists settings of Zenoh's that have no effect on a session of ours.
func zenohNotes(cfg *config.Config) []zenoh.Note {
	session, err := cfg.Session()
	if err != nil || cfg.Zenoh.Enabled == config.EnabledNo {
		return nil
	}
	return session.Notes()
}

func checkText(file string, cfg *config.Config) string {
	if file == "" {
		file = "no file"
	}
	return fmt.Sprintf("%s: ok, %s\n", file, plural(len(cfg.Cameras), "camera"))
}
