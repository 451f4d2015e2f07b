// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/internal/bench"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// benchFlags are what bench and sweep share.
type benchFlags struct {
	out        string
	samples    int
	warmup     int
	timeout    seconds
	loadPeriod time.Duration
	loadWindow int
	noPlot     bool
	upload     bool
	cuda       string // library of the driver
	device     string
	log        *LogFlags
}

func addBenchFlags(fs *pflag.FlagSet, samples, warmup int) *benchFlags {
	b := &benchFlags{timeout: seconds(bench.DefaultTimeout)}
	fs.StringVarP(&b.out, "output", "o", "results", "`directory` in which a new one is made for the run")
	fs.IntVar(&b.samples, "samples", samples, "`frames` to measure in each phase; p99.9 needs 10,000")
	fs.IntVar(&b.warmup, "warmup", warmup, "`frames` to take before that")
	fs.Var(&b.timeout, "timeout", "give a phase up (exit code 6) when no frame comes for this time")
	fs.DurationVar(&b.loadPeriod, "load-period", bench.DefaultLoadPeriodMillis*time.Millisecond, "time between two looks at the processor loads, 10ms to 1s")
	fs.IntVar(&b.loadWindow, "load-window", bench.DefaultLoadWindow, "average loads over so many `looks`, 1 to 100")
	fs.BoolVar(&b.noPlot, "no-plot", false, "draw no pictures")
	fs.BoolVar(&b.upload, "upload", false, "also measure shm and cpu until the frame is on this process's GPU; with cuda among the backends they are where there is one")
	fs.StringVar(&b.cuda, "cuda-library", "", "the CUDA driver's library, a `file` or its folder (default: $"+gpu.EnvLibrary+", else the system's libcuda.so.1)")
	fs.StringVar(&b.device, "cuda-device", "", "the GPU, a `UUID` or number (default: the one that has the frames, for uploads the first)")
	b.log = AddLogFlags(fs, "error")
	return b
}

// uploads is where the frames of these backends end.
func (b *benchFlags) uploads(list []negotiate.Backend) bench.Upload {
	switch {
	case b.upload:
		return bench.UploadAlways
	case slices.Contains(list, negotiate.BackendCUDA):
		return bench.UploadIfCan
	}
	return bench.UploadNever
}

func (b *benchFlags) check() error {
	switch {
	case b.out == "":
		return Usagef("-o: which directory?")
	case b.samples < 1 || b.samples > bench.MaxSamples:
		return Usagef("--samples %d: must be 1 to %d", b.samples, bench.MaxSamples)
	case b.warmup < 0 || b.warmup > bench.MaxSamples:
		return Usagef("--warmup %d: must be 0 to %d", b.warmup, bench.MaxSamples)
	case b.loadPeriod < bench.MinLoadPeriodMillis*time.Millisecond || b.loadPeriod > bench.MaxLoadPeriodMillis*time.Millisecond:
		return Usagef("--load-period %v: must be %dms to %dms", b.loadPeriod, bench.MinLoadPeriodMillis, bench.MaxLoadPeriodMillis)
	case b.loadWindow < 1 || b.loadWindow > bench.MaxLoadWindow:
		return Usagef("--load-window %d: must be 1 to %d", b.loadWindow, bench.MaxLoadWindow)
	}
	return nil
}

// backendList turns a flag into backends, each once.
func backendList(list backends, byDefault ...negotiate.Backend) ([]negotiate.Backend, error) {
	if len(list) == 0 {
		return byDefault, nil
	}
	for i, b := range list {
		if slices.Contains(list[:i], b) {
			return nil, Usagef("%s is named twice: a phase is one backend", b)
		}
	}
	return list, nil
}

func benchProgram() bench.Program {
	v := ReadVersion("camsub")
	return bench.Program{Version: v.Version, Commit: v.Revision, Modified: v.Modified, Go: v.Go}
}

// benchSubscription shows a subscription of this package to package bench.
type benchSubscription struct{ subscription }

// Next implements bench.Subscription.
func (s benchSubscription) Next(ctx context.Context) (bench.Frame, error) {
	return s.subscription.Next(ctx)
}

// benchWorld is the world that a phase sees.
func (w world) benchWorld() bench.World {
	b := bench.RealWorld()
	b.Now = w.now
	b.Clocks = func() (int64, int64) { return w.now(), w.realtime() }
	b.Subscribe = func(ctx context.Context, stream string, events func(client.Event), opts ...client.Option) (bench.Subscription, error) {
		s, err := w.subscribe(ctx, stream, append(opts, client.WithEvents(events))...)
		if err != nil {
			return nil, err
		}
		return benchSubscription{s}, nil
	}
	return b
}

func newBench(w world) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench STREAM",
		Short: "Measure a stream by one backend after the other",
		Long: `Measure the same stream in phases, one for each backend: the time from ready
(complete in the publisher's memory), from publish and from capture until the
frame is usable here, the period, and the processor load of both sides and of
the host. A table and a comparison go to stdout; a new directory below -o gets
latency.csv (a row for each metric), samples.csv (a row for each frame),
meta.json, and pictures if camsub-plot is there.

ROS 2 messages do not say when a frame was ready. For the backend cpu a second
subscription, by shared memory, tells it where there is one.

Frames that come by another backend than the phase's are counted and explained.
A phase in which the backend or the wall clock changes is marked as not valid
(exit code 1). A backend that cannot be had leaves its phase out (exit code 5).

With cuda among the phases, or --upload, a frame is usable when it is complete
in memory of this process's GPU: what comes by shm or cpu is uploaded, as any
GPU program has to, and --touch has the GPU copy the frame there. Without a GPU
the phases shm and cpu end in host memory, which is said, except with --upload.
Ctrl-C ends early and keeps what was measured.`,
		Example: "  camsub bench test/color --phases cpu,shm,cuda --samples 300 -o results/",
		Args:    OneArg("stream", streamExample),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	var phases backends
	fs.Var(&phases, "phases", "`backends`, in this order (default shm, of a ROS 2 topic cpu)")
	flags := addBenchFlags(fs, bench.DefaultSamples, bench.DefaultWarmup)
	touch := fs.Bool("touch", false, "read every byte of each frame, and measure until that is done too")
	lines := fs.Bool("lines", false, "print a line for each frame, beside the measured path")
	noTap := fs.Bool("no-tap", false, "do not ask shared memory when frames were ready that come by cpu")
	pixel := fs.Bool("debug-pixel", false, "keep the centre pixel of each frame, in lines and samples.csv")
	compat := newOneOf("", "zed")
	fs.Var(compat, "compat", "also append rows in the form of Stereolabs' benchmark to zed.csv in -o")
	format := formatFlag(cmd, "text", "csv", "json")
	wake := newOneOf(string(negotiate.WakeFutex), string(negotiate.WakeFutex), string(negotiate.WakePipe))
	fs.Var(wake, "wake", "how to be woken for a frame, by shm")
	place := addPlaceFlags(fs)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		usual := negotiate.BackendSHM
		if len(args) == 1 && client.IsTopic(args[0]) {
			usual = negotiate.BackendCPU
		}
		list, err := backendList(phases, usual)
		if err == nil {
			err = flags.check()
		}
		var found []client.Option
		if err == nil {
			found, err = place.options()
		}
		if err != nil {
			return err
		}
		accelerator := &bench.Accelerator{Library: flags.cuda, Device: flags.device, Log: flags.log.Logger(cmd.ErrOrStderr())}
		defer accelerator.Close()
		b := &benchRun{
			world: w, benchFlags: flags, cmd: cmd, format: format.value, lines: *lines, accelerator: accelerator,
			notes: &notes{out: cmd.ErrOrStderr(), program: cmd.Root().Name()},
			run: bench.NewRun("bench", benchProgram(), map[string]any{
				"phases": list, "samples": flags.samples, "warmup": flags.warmup, "touch": *touch, "wake": wake.value, "upload": flags.upload,
				"load_period_ms": flags.loadPeriod.Milliseconds(), "load_window": flags.loadWindow,
			}),
		}
		if compat.value == "zed" {
			b.compat = bench.AppendZED
		}
		return b.phases(cmd.Context(), found, list, bench.Phase{
			Stream: args[0], Samples: flags.samples, Warmup: flags.warmup, Touch: *touch, Pixel: *pixel, NoTap: *noTap,
			Timeout: time.Duration(flags.timeout), LoadPeriod: flags.loadPeriod, LoadWindow: flags.loadWindow, Upload: flags.uploads(list),
			Options: append(slices.Clip(found),
				client.WithLogger(flags.log.Logger(cmd.ErrOrStderr())), client.WithName(cmd.CommandPath()),
				client.WithWake(negotiate.WakeKind(wake.value))),
		})
	}
	return cmd
}

// benchRun is one execution of bench or sweep.
type benchRun struct {
	world
	*benchFlags
	cmd    *cobra.Command
	format string
	lines  bool
	notes  *notes
	run    *bench.Run
	// accelerator is for phases that need a GPU.
	accelerator *bench.Accelerator
	compat      func(out string, run *bench.Run) error
}

// phases measures one backend after the other and keeps the results. found are
// the options of where to look.
func (b *benchRun) phases(ctx context.Context, found []client.Option, list []negotiate.Backend, p bench.Phase) error {
	folder, err := bench.NewFolder(b.out, "bench", b.run.Meta.Started)
	if err != nil {
		return err
	}
	for _, backend := range list {
		p.Backend, p.Name = backend, string(backend)
		p.Live = new(bench.Live)
		b.notes.say("%s by %s: %d frames after %d to warm up", p.Stream, backend, p.Samples, p.Warmup)
		stop := func() error { return nil }
		if b.lines {
			stop = bench.Lines(b.cmd.OutOrStdout(), p.Name, p.Live)
		}
		r, phaseErr := p.Run(ctx, b.accelerator.World(b.benchWorld()))
		err = errors.Join(phaseErr, stop())
		b.run.Add(r)
		if err != nil || r.Interrupted {
			break
		}
	}
	if errors.Is(err, bench.ErrTimeout) {
		err = fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	if err != nil {
		err = explainUnknown(ctx, b.world, p.Stream, found, err)
	}
	return b.finish(folder, bench.Table, err)
}

// finish prints, writes the folder, and decides how it ended. err is what ended
// the measurement.
func (b *benchRun) finish(folder *bench.Folder, table func(*bench.Run) string, err error) error {
	b.run.End(err != nil || b.cmd.Context().Err() != nil)
	if !b.run.Measured() {
		if removed := folder.Remove(); err == nil {
			err = removed
		}
		return errors.Join(err, b.unavailable())
	}
	b.run.Meta.RunID = folder.RunID()
	err = errors.Join(err, b.print(table))
	if writeErr := folder.Write(b.run); writeErr != nil {
		return errors.Join(writeErr, err)
	}
	b.notes.say("written to %s", folder.Path)
	if text := b.run.SimulatedNote(); text != "" {
		b.notes.say("%s", text)
	}
	if b.compat != nil {
		err = errors.Join(err, b.compat(b.out, b.run))
	}
	if !b.noPlot {
		b.plot(folder.Path)
	}
	return errors.Join(err, b.unavailable(), b.invalid())
}

func (b *benchRun) print(table func(*bench.Run) string) error {
	out := b.cmd.OutOrStdout()
	switch b.format {
	case "csv":
		return bench.WriteRows(out, b.run.Meta.RunID, b.run.Rows())
	case "json":
		return printJSON(out, b.run.Summary())
	}
	_, err := fmt.Fprintln(out, table(b.run))
	return err
}

// errInvalid: a phase was measured, and something spoilt it.
var errInvalid = errors.New("not valid")

func (b *benchRun) invalid() error {
	var errs []error
	for _, r := range b.run.Results {
		if len(r.Problems) > 0 {
			errs = append(errs, fmt.Errorf("phase %s is %w: %s", r.Phase, errInvalid, strings.Join(r.Problems, "; ")))
		}
	}
	return errors.Join(errs...)
}

func (b *benchRun) unavailable() error {
	var errs []error
	for _, r := range b.run.Results {
		if r.Unavailable != "" {
			errs = append(errs, fmt.Errorf("phase %s: %w", r.Phase, &missingBackend{r.Unavailable}))
		}
	}
	return errors.Join(errs...)
}

// missingBackend is client.ErrNotAvailable with the text that it had in another
// phase or process.
type missingBackend struct{ text string }

func (e *missingBackend) Error() string { return e.text }

// Unwrap makes the exit code.
func (e *missingBackend) Unwrap() error { return client.ErrNotAvailable }
