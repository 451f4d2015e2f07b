// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
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
	d, err := capture.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("must be a positive time such as 10s, 250ms or 2m")
	}
	return d, nil
}

// dirFlag adds --runtime-dir.
func dirFlag(fs *pflag.FlagSet) *string {
	var dir string
	fs.Var((*directory)(&dir), "runtime-dir", "look for camd only in this `directory`")
	return &dir
}

// directory is a flag value: a path. An empty one, mostly that of a variable
// which is not set, would choose another directory in silence.
type directory string

func (d *directory) String() string { return string(*d) }
func (d *directory) Type() string   { return "directory" }
func (d *directory) Set(text string) error {
	if text == "" {
		return errors.New("must be the path of a directory")
	}
	*d = directory(text)
	return nil
}

// pathFlags choose how frames come.
type pathFlags struct {
	*placeFlags
	wait    bool
	accept  []negotiate.Backend
	require *oneOf
	wake    *oneOf
	credit  int
	cuda    *string // library of the driver
	log     *LogFlags
}

var backendNames = []string{string(negotiate.BackendCUDA), string(negotiate.BackendSHM), string(negotiate.BackendCPU)}

func addPathFlags(fs *pflag.FlagSet) *pathFlags {
	p := &pathFlags{
		placeFlags: addPlaceFlags(fs),
		require:    newOneOf("", backendNames...),
		wake:       newOneOf(string(negotiate.WakeFutex), string(negotiate.WakeFutex), string(negotiate.WakePipe)),
	}
	fs.Var((*backends)(&p.accept), "accept", "`backends` that may be used, for example shm,cpu (default shm,cpu, of a ROS 2 topic cpu); cuda implies cpu")
	fs.Var(p.require, "require", "fail with exit code 5 unless frames come by this backend")
	fs.Var(p.wake, "wake", "how to be woken for a frame")
	fs.Var((*credit)(&p.credit), "credit", fmt.Sprintf("`number` of frames to hold at a time, 1 to %d (default %d)", ring.MaxCredit, client.DefaultCredit))
	p.cuda = fs.String("cuda-library", "", "the CUDA driver's library, a `file` or its folder, for --accept cuda (default: $"+gpu.EnvLibrary+", else the system's libcuda.so.1)")
	fs.BoolVar(&p.wait, "wait", false, "wait for a publisher of a ROS 2 topic that nobody publishes")
	p.log = AddLogFlags(fs, "error") // notes say what happens
	return p
}

// options checks the flags and turns them into those of the client.
func (p *pathFlags) options(program string, stderr io.Writer) ([]client.Option, error) {
	opts, err := p.placeFlags.options()
	if err != nil {
		return nil, err
	}
	opts = append(opts,
		client.WithLogger(p.log.Logger(stderr)),
		client.WithName(program),
		client.WithWake(negotiate.WakeKind(p.wake.value)),
	)
	if p.wait {
		opts = append(opts, client.WithUnpublished())
	}
	accept := p.accept
	if required := negotiate.Backend(p.require.value); required != "" {
		if len(accept) == 0 {
			accept = []negotiate.Backend{required}
		}
		implied := required == negotiate.BackendCPU && slices.Contains(accept, negotiate.BackendCUDA)
		if !implied && !slices.Contains(accept, required) {
			return nil, Usagef("--require %s and --accept %s exclude each other", required, (*backends)(&accept))
		}
		opts = append(opts, client.WithRequire(required))
	}
	if len(accept) > 0 {
		opts = append(opts, client.WithAccept(accept...))
	}
	if p.credit > 0 {
		opts = append(opts, client.WithCredit(p.credit))
	}
	return opts, nil
}

// world is w with a GPU, where the flags accept frames in the memory of one.
func (p *pathFlags) world(w world, stderr io.Writer) world {
	accepted := slices.Contains(p.accept, negotiate.BackendCUDA) || p.require.value == string(negotiate.BackendCUDA)
	if !accepted || w.onGPU == nil {
		return w
	}
	w.subscribe = func(ctx context.Context, stream string, opts ...client.Option) (subscription, error) {
		return w.onGPU(ctx, *p.cuda, p.log.Logger(stderr), stream, opts...)
	}
	return w
}

// backends is a flag value: names with commas between them.
type backends []negotiate.Backend

func (b *backends) String() string {
	words := make([]string, 0, len(*b))
	for _, name := range *b {
		words = append(words, string(name))
	}
	return strings.Join(words, ",")
}
func (b *backends) Type() string { return "backends" }
func (b *backends) Set(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		if !slices.Contains(backendNames, word) {
			return fmt.Errorf("must be of %s", strings.Join(backendNames, ", "))
		}
		*b = append(*b, negotiate.Backend(word))
	}
	return nil
}

// credit is a flag value: frames held at a time. 0 stands for the default.
type credit int

func (c *credit) String() string {
	if *c == 0 {
		return ""
	}
	return strconv.Itoa(int(*c))
}
func (c *credit) Type() string { return "number" }
func (c *credit) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > ring.MaxCredit {
		return fmt.Errorf("must be a whole number from 1 to %d", ring.MaxCredit)
	}
	*c = credit(n)
	return nil
}

// perSecond is a flag value: a rate in Hz. 0 stands for no limit.
type perSecond float64

// maxPerSecond is one for each nanosecond.
const maxPerSecond = 1e9

func (r *perSecond) String() string {
	if *r == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*r), 'g', -1, 64)
}
func (r *perSecond) Type() string { return "Hz" }
func (r *perSecond) Set(text string) error {
	f, err := strconv.ParseFloat(text, 64)
	// The least rate keeps the time between two frames below 12 days.
	if err != nil || !(f >= 1e-6 && f <= maxPerSecond) {
		return errors.New("must be a positive number of frames per second")
	}
	*r = perSecond(f)
	return nil
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
