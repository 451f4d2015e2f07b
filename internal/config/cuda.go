// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/seed-3c7e7623/camd/backend/cuda"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/internal/daemon"
)

// CUDA is whether and how frames are offered in memory of a GPU.
type CUDA struct {
	Enabled Enabled
	Library Path // of the driver, a file or its folder; "" = the usual places
	Device  GPU
	Users   UIDs // that may have device memory, besides root and the daemon's own
	RingMiB MiB  // bound of a stream's ring there; 0 = none
}

func usualCUDA() CUDA { return CUDA{Enabled: EnabledAuto, RingMiB: 512} }

// Daemon is that for the daemon.
func (c CUDA) Daemon() *daemon.GPU {
	return &daemon.GPU{
		Options: cuda.Options{
			Off: c.Enabled == EnabledNo, Library: c.Library.name(), Device: string(c.Device), Users: c.Users,
			RingBytes: int64(c.RingMiB) << 20,
		},
		Expected: c.Enabled == EnabledYes,
	}
}

// GPU names a GPU by its UUID or by its number; "" is the first.
type GPU string

func (g *GPU) String() string { return string(*g) }

// Set reads a UUID as nvidia-smi -L shows it, or a number from 0.
func (g *GPU) Set(text string) error {
	if text != "" {
		_, notUUID := driver.ParseUUID(text)
		if n, err := strconv.ParseUint(text, 10, 16); notUUID != nil && (err != nil || strconv.FormatUint(n, 10) != text) {
			return fmt.Errorf("%q: want a UUID as nvidia-smi -L shows it, or a number from 0", text)
		}
	}
	*g = GPU(text)
	return nil
}

// MiB is an amount of memory in units of 2^20 bytes.
type MiB int

// maxMiB is 1 TiB.
const maxMiB = 1 << 20

func (m *MiB) String() string { return strconv.Itoa(int(*m)) }

// Set reads a whole number.
func (m *MiB) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxMiB {
		return fmt.Errorf("%q: want a whole number of MiB, 0 to %d", text, maxMiB)
	}
	*m = MiB(n)
	return nil
}

// checkCUDA looks for the library where one is named.
func (c *Config) checkCUDA(r *report, accept error) {
	path := c.CUDA.Library.name()
	if path == "" || c.CUDA.Enabled == EnabledNo || filepath.Base(path) == path {
		return // a bare name is the loader's to find
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() && accept != nil {
		return // a driver may be put there later
	}
	if err := driver.Check(path); err != nil && (accept == nil || !errors.Is(err, accept)) {
		r.add(c.origin(keyCUDALibrary), "%s: %s", keyCUDALibrary, err)
	}
}

// CheckLibrary looks into the library of cuda where one is named. camd runs with
// one that is damaged too, and says why there are no frames on a GPU. It fails
// with [*Error].
func (c *Config) CheckLibrary() error {
	r := &report{lines: c.lines}
	c.checkCUDA(r, nil)
	return r.err()
}
