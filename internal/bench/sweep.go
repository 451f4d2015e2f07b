// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Defaults of a sweep.
const (
	DefaultSweepSamples = 1000
	DefaultSweepWarmup  = 10
	DefaultSpacing      = 5 * time.Millisecond
	MaxSpacing          = 10 * time.Second
)

// Sweep measures payloads of several sizes by several backends. Each cell has a
// publisher and a consumer of its own, which are new processes.
type Sweep struct {
	Backends   []negotiate.Backend // floors too
	Sizes      []int               // bytes
	Samples    int
	Warmup     int
	Spacing    time.Duration
	Touch      bool
	Seed       uint64   // of the order of cells
	Connect    []string // endpoints of Zenoh routers, for cpu; none = the environment's
	Upload     Upload   // of what comes by shm and cpu
	Library    string   // of the CUDA driver, "" = where it usually is
	Device     string   // the GPU's UUID or number, "" = the first
	Timeout    time.Duration
	LoadPeriod time.Duration
	LoadWindow int
	// Program is how a process is started that calls ServePart.
	Program []string
	Stderr  io.Writer // of these processes
	// Begin, if set, is called before each cell.
	Begin func(done, all int, name string)
}

// cell is a payload by a backend.
type cell struct {
	size    int
	backend negotiate.Backend
}

func (c cell) name() string { return fmt.Sprintf("%s/%d", c.backend, c.size) }

// cells are all of them, in the order of tables.
func (s *Sweep) cells() []cell {
	var out []cell
	for _, size := range s.Sizes {
		for _, b := range s.Backends {
			out = append(out, cell{size, b})
		}
	}
	return out
}

// Run measures the cells in random order and returns their results in the order
// of sizes and backends. It ends early when ctx is done, with what it has by
// then. A cell that cannot be had is a result that says why.
func (s *Sweep) Run(ctx context.Context) []*Result {
	cells := s.cells()
	results := make([]*Result, len(cells))
	order := rand.New(rand.NewPCG(s.Seed, 1)).Perm(len(cells))
	for done, i := range order {
		c := cells[i]
		if s.Begin != nil {
			s.Begin(done, len(cells), c.name())
		}
		r, err := s.measure(ctx, c)
		if err != nil && ctx.Err() == nil {
			r = &Result{Phase: c.name(), Asked: c.backend, Started: time.Now(), Unavailable: err.Error()}
		}
		if r != nil {
			r.Size, r.Floor = c.size, isFloor(c.backend)
			results[i] = r
		}
		if ctx.Err() != nil {
			break
		}
	}
	return slices.DeleteFunc(results, func(r *Result) bool { return r == nil })
}

// measure runs one cell.
func (s *Sweep) measure(ctx context.Context, c cell) (*Result, error) {
	dir, err := os.MkdirTemp("", "camsub-sweep-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var files []*os.File
	if c.backend == FloorSHM {
		m, err := linux.NewMemory("sweep-floor", floorMemoryBytes(c.size), false)
		if err != nil {
			return nil, err
		}
		defer m.Close()
		fd, err := unix.FcntlInt(uintptr(m.FD), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("duplicate a descriptor: %w", err)
		}
		files = []*os.File{os.NewFile(uintptr(fd), "floor")}
		defer files[0].Close()
	}
	p := part{
		Publish: true, Backend: c.backend, Size: c.size, Spacing: s.Spacing, Dir: dir, Connect: s.Connect,
		Name: c.name(), Samples: s.Samples, Warmup: s.Warmup, Touch: s.Touch,
		Upload: s.Upload, Library: s.Library, Device: s.Device, Timeout: s.Timeout, LoadPeriod: s.LoadPeriod, LoadWindow: s.LoadWindow,
	}
	publisher, err := s.start(p, files)
	if err != nil {
		return nil, err
	}
	defer publisher.stop()
	h, err := publisher.hello(ctx)
	if err != nil {
		return nil, err
	}
	p.Publish, p.Publisher, p.Address = false, publisher.cmd.Process.Pid, h.Address
	consumer, err := s.start(p, files)
	if err != nil {
		return nil, err
	}
	defer consumer.stop()
	return consumer.answer(ctx)
}
