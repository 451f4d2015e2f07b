// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/internal/bench"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// payloads is a flag value: sizes in bytes with commas between them.
type payloads []int

func (p *payloads) String() string {
	words := make([]string, 0, len(*p))
	for _, n := range *p {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ",")
}
func (p *payloads) Type() string { return "bytes" }
func (p *payloads) Set(text string) error {
	var out payloads
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			return fmt.Errorf("%q is no number of bytes", word)
		}
		if _, err := bench.PayloadGeometry(n); err != nil {
			return err
		}
		if slices.Contains(out, n) {
			return fmt.Errorf("%d is there twice", n)
		}
		out = append(out, n)
	}
	*p = out
	return nil
}

// sweepPart is the hidden command by which sweep runs this program again.
const sweepPart = "sweep-part"

func newSweepPart() *cobra.Command {
	return &cobra.Command{
		Use: sweepPart, Hidden: true, Args: NoArgs,
		Short: "Serve as a process of camsub sweep",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return bench.ServePart(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

func newSweep(w world) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Measure payloads of 8 bytes to 40 MB by each backend",
		Long: `Measure how long payloads of several sizes take from ready until they are usable
and, unless --no-touch, until every byte was read. No camd is needed: each cell
(a size by a backend) gets a publisher and a consumer of its own, which are new
processes. The order of cells is random.

Beside each backend stands its floor: the same payload, pacing and consuming
work by shared memory and a futex (floor_shm), or by a socket (floor_tcp), and
nothing else. Results go to stdout and to a new directory below -o, as those of
bench do. The backend cpu needs a Zenoh router. A payload that is not read before
the next one comes is replaced by it and counted as dropped: give large ones
more room with --spacing.

With cuda among the backends, or --upload, a payload is usable when it is
complete in memory of the consumer's GPU, as by camsub bench, and it is read by
a copy within that memory. The floors end in host memory.

Ctrl-C ends early and keeps what was measured.`,
		Example: "  camsub sweep --backends cuda,shm,cpu -o results/",
		Args:    NoArgs,
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	var list backends
	fs.Var(&list, "backends", "`backends` to measure (default shm)")
	sizes := payloads(bench.DefaultSizes)
	fs.Var(&sizes, "sizes", "payloads in `bytes`")
	flags := addBenchFlags(fs, bench.DefaultSweepSamples, bench.DefaultSweepWarmup)
	spacing := fs.Duration("spacing", bench.DefaultSpacing, "`pause` of the publisher between two payloads, 5ms or 20ms for example")
	noTouch := fs.Bool("no-touch", false, "do not read the payloads")
	noFloor := fs.Bool("no-floor", false, "leave the floors out")
	seed := fs.Uint64("seed", 0, "of the order of cells (default: a new one)")
	connect := fs.StringSlice("connect", nil, "Zenoh router for cpu, an `endpoint` (default: the environment's configuration, else "+client.DefaultRouter+")")
	compat := newOneOf("", "dora")
	fs.Var(compat, "compat", "also append rows as those who compare with dora keep them to dora.csv in -o")
	format := formatFlag(cmd, "text", "csv", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		backends, err := backendList(list, negotiate.BackendSHM)
		if err == nil {
			err = flags.check()
		}
		if err == nil && (*spacing < 0 || *spacing > bench.MaxSpacing) {
			err = Usagef("--spacing %v: must be 0 to %v", *spacing, bench.MaxSpacing)
		}
		if err != nil {
			return err
		}
		if !cmd.Flags().Changed("seed") {
			*seed = rand.Uint64()
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		s := &bench.Sweep{
			Sizes: sizes, Samples: flags.samples, Warmup: flags.warmup, Spacing: *spacing, Touch: !*noTouch, Seed: *seed,
			Timeout: time.Duration(flags.timeout), LoadPeriod: flags.loadPeriod, LoadWindow: flags.loadWindow,
			Upload: flags.uploads(backends), Library: flags.cuda, Device: flags.device,
			Connect: *connect, Program: []string{self, sweepPart}, Stderr: cmd.ErrOrStderr(),
		}
		for _, b := range backends {
			s.Backends = append(s.Backends, b)
			if floor, ok := bench.FloorOf(b); ok && !*noFloor {
				s.Backends = append(s.Backends, floor)
			}
		}
		b := &benchRun{
			world: w, benchFlags: flags, cmd: cmd, format: format.value,
			notes: &notes{out: cmd.ErrOrStderr(), program: cmd.Root().Name()},
			run: bench.NewRun("sweep", benchProgram(), map[string]any{
				"backends": s.Backends, "sizes": s.Sizes, "samples": s.Samples, "warmup": s.Warmup, "touch": s.Touch, "upload": flags.upload,
				"spacing_ns": spacing.Nanoseconds(), "seed": strconv.FormatUint(s.Seed, 10),
				"load_period_ms": flags.loadPeriod.Milliseconds(), "load_window": flags.loadWindow,
			}),
		}
		if compat.value == "dora" {
			b.compat = bench.AppendDora
		}
		s.Begin = func(done, all int, name string) { b.notes.say("%d of %d: %s bytes", done+1, all, name) }
		folder, err := bench.NewFolder(flags.out, "sweep", b.run.Meta.Started)
		if err != nil {
			return err
		}
		for _, r := range s.Run(cmd.Context()) {
			b.run.Add(r)
		}
		return b.finish(folder, bench.SweepTable, nil)
	}
	return cmd
}
