// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/seed-3c7e7623/camd/internal/dl"
)

// Driver is the opened and initialised library. It is never closed: the driver
// keeps threads and exit handlers of its own.
type Driver struct {
	table   [symbols]dl.Func
	library string
	module  string
	version int

	mu     sync.Mutex
	caller *caller // for what needs no context; guarded by mu
}

// Open opens the driver's library, resolves its functions and initialises it,
// which can take a second. The empty name means libcuda.so.1, where the dynamic
// loader finds it or in one of the usual places; otherwise it is the library's
// file or its folder.
//
// It fails with one of the sentinels ErrNoDriver, ErrStub, ErrMismatch,
// ErrNoDevice, ErrNotReady and ErrTooOld, or with an [Error] of another code.
// Some failures last until the process ends: a later try in the same process
// may fail though the cause is gone.
func Open(library string) (*Driver, error) {
	module := moduleVersion(moduleFile)
	var first error
	for _, name := range candidates(library) {
		d, err := openOne(name, module)
		if err == nil {
			return d, nil
		}
		// The loader's choice is the one to speak of, unless it found nothing or a
		// stub and another place has a driver with a better reason to fail.
		if first == nil || (errors.Is(first, ErrNoDriver) || errors.Is(first, ErrStub)) && !errors.Is(err, ErrNoDriver) {
			first = err
		}
		if !errors.Is(err, ErrNoDriver) && !errors.Is(err, ErrStub) {
			break
		}
	}
	if errors.Is(first, ErrNoDriver) && module != "" && library == "" && !errors.Is(first, dl.ErrBuiltWithoutDL) {
		return nil, fmt.Errorf("%w; the kernel module is there (%s): in a container, start it with the NVIDIA runtime and NVIDIA_DRIVER_CAPABILITIES=compute,utility", first, module)
	}
	return nil, first
}

// maxNamed is how many functions that are missing are named.
const maxNamed = 4

func openOne(name, module string) (*Driver, error) {
	if !dl.Available {
		return nil, fmt.Errorf("%w: %w", ErrNoDriver, dl.ErrBuiltWithoutDL)
	}
	if err := checkFile(name); err != nil {
		return nil, err
	}
	lib, err := dl.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	d := &Driver{library: name, module: module}
	d.caller = &caller{table: &d.table, user: "driver"}
	var lacks []string
	newest := 0
	for s, f := range functions {
		address, err := lib.Symbol(f.name)
		switch {
		case err == nil:
			d.table[s] = address
		case f.need == required:
			lacks = append(lacks, f.name)
			newest = max(newest, f.since)
		}
	}
	if init := d.table[fnInit]; init != 0 {
		if file := dl.File(init); file != "" {
			d.library = file
		}
	}
	c := d.caller
	watch(c) // for good, if the library is of use
	used := false
	defer func() {
		if !used {
			unwatch(c)
		}
	}()
	if d.table[fnInit] == 0 {
		return nil, fmt.Errorf("%w: %s is no CUDA driver: it lacks %s", ErrNoDriver, d.library, functions[fnInit].name)
	}
	if len(lacks) > 0 {
		if n := len(lacks) - maxNamed; n > 0 {
			lacks = append(lacks[:maxNamed], fmt.Sprintf("%d more", n))
		}
		return nil, fmt.Errorf("%s: %w: it lacks %s; CUDA %s and newer have all of them: update the driver", d.library, ErrTooOld, strings.Join(lacks, ", "), VersionString(newest))
	}
	if err := c.call(fnInit, 0); err != nil {
		if module == "" && errors.Is(err, ErrNoDevice) {
			return nil, fmt.Errorf("%s: %w; the kernel tells of no NVIDIA module, in %s", d.library, err, moduleFile)
		}
		return nil, fmt.Errorf("%s%s: %w", d.library, d.withModule(), err)
	}
	if err := c.call(fnDriverGetVersion, dl.Address(&c.out.number)); err != nil {
		return nil, fmt.Errorf("%s%s: %w", d.library, d.withModule(), err)
	}
	d.version = int(c.out.number)
	used = true
	return d, nil
}

func (d *Driver) withModule() string {
	if d.module == "" {
		return ""
	}
	return " with kernel module " + d.module
}

// Version is the newest CUDA version that the driver serves, 13000 for 13.0.
func (d *Driver) Version() int { return d.version }

// Library is the path of the library's file, behind all links. In its name
// NVIDIA puts the driver's version.
func (d *Driver) Library() string { return d.library }

// ModuleVersion is the version of the kernel module, "580.65.06" for instance;
// "" where the kernel does not tell.
func (d *Driver) ModuleVersion() string { return d.module }

// VMM reports whether the library has the functions for memory that can be
// exported; whether a GPU can do it says [Device].
func (d *Driver) VMM() bool {
	for s, f := range functions {
		if f.need == vmm && d.table[s] == 0 {
			return false
		}
	}
	return true
}

// candidates lists the names to open, the best first. The name libcuda.so is
// never among them: with a CUDA toolkit it is the stub.
func candidates(library string) []string {
	if library != "" {
		if info, err := os.Stat(library); err == nil && info.IsDir() {
			library = filepath.Join(library, soname)
		}
		return []string{library}
	}
	var names []string
	add := func(folder string) {
		file := filepath.Join(folder, soname)
		if _, err := os.Stat(file); err == nil {
			names = append(names, file)
		}
	}
	// Under Windows a driver for Linux, which some package brought, finds no device.
	add(wslFolder)
	names = append(names, soname)
	for _, folder := range folders {
		add(folder)
	}
	return names
}
