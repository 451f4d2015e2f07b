// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// seconds is a flag value: a duration such as 10s or 250ms, or a bare number
// of seconds.
type seconds time.Duration

func (s *seconds) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}
func (s *seconds) Type() string { return "duration" }
func (s *seconds) Set(text string) error {
	d, err := parseSeconds(text)
	if err == nil {
		*s = seconds(d)
	}
	return err
}

func parseSeconds(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		var n float64
		if n, err = strconv.ParseFloat(text, 64); err == nil && n < 1e9 {
			d = time.Duration(n * float64(time.Second))
		}
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("must be a positive time such as 10s, 250ms or 2m")
	}
	return d, nil
}

// dirFlag adds --runtime-dir.
func dirFlag(fs *pflag.FlagSet) *string {
	return fs.String("runtime-dir", "", "look for camd only in this `directory`")
}

// dirOption is nothing for "": the usual directories are then searched.
func dirOption(dir string) []client.Option {
	if dir == "" {
		return nil
	}
	return []client.Option{client.WithRuntimeDir(dir)}
}

// pathFlags choose how frames come.
type pathFlags struct {
	dir     *string
	accept  []string
	require *oneOf
	wake    *oneOf
	credit  int
	log     *LogFlags
}

var backendNames = []string{string(negotiate.BackendCUDA), string(negotiate.BackendSHM), string(negotiate.BackendCPU)}

func addPathFlags(fs *pflag.FlagSet) *pathFlags {
	p := &pathFlags{
		dir:     dirFlag(fs),
		require: newOneOf("", backendNames...),
		wake:    newOneOf(string(negotiate.WakeFutex), string(negotiate.WakeFutex), string(negotiate.WakePipe)),
	}
	fs.StringSliceVar(&p.accept, "accept", nil, "`backends` that may be used, for example shm,cpu (default shm); cuda implies cpu")
	fs.Var(p.require, "require", "fail with exit code 5 unless frames come by this backend")
	fs.Var(p.wake, "wake", "how to be woken for a frame")
	fs.IntVar(&p.credit, "credit", 0, "`number` of frames to hold at a time (default 2)")
	p.log = AddLogFlags(fs, "error") // notes say what happens
	return p
}

// options checks the flags and turns them into those of the client.
func (p *pathFlags) options(program string, stderr io.Writer) ([]client.Option, error) {
	opts := append(dirOption(*p.dir),
		client.WithLogger(p.log.Logger(stderr)),
		client.WithName(program),
		client.WithWake(negotiate.WakeKind(p.wake.value)),
	)
	var accept []negotiate.Backend
	for _, name := range p.accept {
		if !slices.Contains(backendNames, name) {
			return nil, Usagef("--accept %s: must be of %s", name, strings.Join(backendNames, ", "))
		}
		accept = append(accept, negotiate.Backend(name))
	}
	// What is required is accepted, and alone unless more is named.
	if required := negotiate.Backend(p.require.value); required != "" && !slices.Contains(accept, required) {
		accept = append(accept, required)
	}
	if len(accept) > 0 {
		opts = append(opts, client.WithAccept(accept...))
	}
	if p.require.value != "" {
		opts = append(opts, client.WithRequire(negotiate.Backend(p.require.value)))
	}
	if p.credit < 0 {
		return nil, Usagef("--credit %d: must be positive", p.credit)
	}
	if p.credit > 0 {
		opts = append(opts, client.WithCredit(p.credit))
	}
	return opts, nil
}

// count is a flag value: a number of frames from 1 on. 0 stands for no limit.
type count uint64

func (c *count) String() string {
	if *c == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(*c), 10)
}
func (c *count) Type() string { return "number" }
func (c *count) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 {
		return fmt.Errorf("must be a whole number from 1 on")
	}
	*c = count(n)
	return nil
}

// limitFlags say when a measurement ends and what is checked.
type limitFlags struct {
	count    uint64
	duration seconds
	timeout  seconds
	verify   bool
}

func addLimitFlags(fs *pflag.FlagSet) *limitFlags {
	l := &limitFlags{}
	fs.Var((*count)(&l.count), "count", "end after this `number` of frames")
	fs.Var(&l.duration, "duration", "end after this time")
	fs.Var(&l.timeout, "timeout", "fail with exit code 6 when no frame comes for this time")
	fs.BoolVar(&l.verify, "verify", false, "check every frame at take and at release")
	return l
}

func windowFlag(fs *pflag.FlagSet, what string, n int) *int {
	return fs.IntP("window", "w", n, "window in "+what)
}

func checkWindow(n int) error {
	if n < 1 {
		return Usagef("--window %d: must be positive", n)
	}
	return nil
}

func formatFlag(cmd *cobra.Command, words ...string) *oneOf {
	f := newOneOf(words[0], words...)
	cmd.Flags().Var(f, "format", "output format")
	return f
}
