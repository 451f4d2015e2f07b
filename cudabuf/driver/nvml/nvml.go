// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package nvml asks NVIDIA's management library, libnvidia-ml.so.1, how loaded a
// GPU is. The library is opened at run time and comes with the driver; it makes
// no context on the GPU, so that asking costs no device memory.
package nvml

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/internal/dl"
)

const soname = "libnvidia-ml.so.1"

var (
	// ErrNoLibrary reports that the library could not be opened. It also wraps
	// dl.ErrBuiltWithoutDL where that is the cause.
	ErrNoLibrary = errors.New("no NVIDIA management library")
	// ErrNoGPU reports a GPU that the library does not know.
	ErrNoGPU = errors.New("no such GPU")
	// ErrUnsupported reports what this GPU or driver does not tell, as the load of
	// a part of a GPU under MIG.
	ErrUnsupported = errors.New("not told by this GPU")
)

// Library is the opened and initialised library. Its methods, and those of its
// GPUs, can be called from anywhere.
type Library struct {
	mu    sync.Mutex
	table [symbols]dl.Func
	args  [4]uintptr
	out   results
}

// results is memory that functions fill.
type results struct {
	handle      uintptr
	utilization utilization
	memory      memory
	count       uint32
	processes   [maxProcesses]process
	text        [80]byte
}

// Open opens and initialises the library; "" means libnvidia-ml.so.1, where the
// dynamic loader finds it. It fails with ErrNoLibrary, or with an [Error].
func Open(library string) (*Library, error) {
	if library == "" {
		library = soname
	}
	lib, err := dl.Open(library)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoLibrary, err)
	}
	l := &Library{}
	into := make(map[string]*dl.Func, symbols)
	for s, f := range functions {
		into[f.name] = &l.table[s]
	}
	if err := lib.Symbols(into); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoLibrary, err)
	}
	if err := l.call(fnInit); err != nil {
		return nil, err
	}
	return l, nil
}

// Close ends the use of the library. GPUs of it are of no use then.
func (l *Library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.call(fnShutdown)
}

// DriverVersion is the driver's version, "580.65.06" for instance.
func (l *Library) DriverVersion() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.call(fnDriverVersion, dl.Address(&l.out.text[0]), uintptr(len(l.out.text))); err != nil {
		return "", err
	}
	end := max(slices.Index(l.out.text[:], 0), 0)
	return string(l.out.text[:end]), nil
}

// GPU is one of the GPUs that the library knows.
type GPU struct {
	library *Library
	handle  uintptr
}

// GPU finds a GPU, or a part of one under MIG. It fails with ErrNoGPU.
func (l *Library) GPU(uuid driver.UUID) (*GPU, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for _, prefix := range []string{"GPU", "MIG"} {
		name := append([]byte(prefix+uuid.String()[len("GPU"):]), 0)
		err = l.call(fnHandleByUUID, l.keep(name), dl.Address(&l.out.handle))
		if err == nil {
			return &GPU{library: l, handle: l.out.handle}, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", uuid, err)
}

// keep puts a C string where it does not move.
func (l *Library) keep(text []byte) uintptr {
	copy(l.out.text[:], text)
	return dl.Address(&l.out.text[0])
}

// Load is how loaded a GPU is.
type Load struct {
	// GPU is for how much of the last period some kernel ran, and Memory for how
	// much of it device memory was read or written, in percent. The period is of
	// 1/6 s to 1 s, as the GPU has it.
	GPU, Memory int
	// Used is of all processes and of the driver, in bytes.
	Used, Total int64
}

// Load asks for the load of now. It allocates nothing.
func (g *GPU) Load() (Load, error) {
	l := g.library
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.call(fnUtilization, g.handle, dl.Address(&l.out.utilization)); err != nil {
		return Load{}, err
	}
	if err := l.call(fnMemory, g.handle, dl.Address(&l.out.memory)); err != nil {
		return Load{}, err
	}
	u, m := &l.out.utilization, &l.out.memory
	return Load{GPU: int(u.GPU), Memory: int(u.Memory), Used: int64(m.Used), Total: int64(m.Total)}, nil
}

// Process is a process that computes on a GPU.
type Process struct {
	PID  int   // as the host sees it, also from a container
	Used int64 // bytes of device memory; -1 where that is not told
}

// Processes appends the processes that compute on the GPU, at most 256.
func (g *GPU) Processes(to []Process) ([]Process, error) {
	l := g.library
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out.count = maxProcesses
	if err := l.call(fnProcesses, g.handle, dl.Address(&l.out.count), dl.Address(&l.out.processes[0])); err != nil {
		return to, err
	}
	for _, p := range l.out.processes[:min(l.out.count, maxProcesses)] {
		to = append(to, Process{PID: int(p.PID), Used: int64(p.UsedGPUMemory)})
	}
	return to, nil
}
