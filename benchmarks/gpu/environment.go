// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/cudabuf/driver"
)

// found is what a child process finds with the driver.
type found struct {
	CUDA        string          `json:"cuda"`
	Library     string          `json:"library"`
	Module      string          `json:"module"`
	Devices     []driver.Device `json:"devices"`
	UUIDs       []string        `json:"uuids"`
	Granularity int64           `json:"granularity_bytes"`
	Free        int64           `json:"free_bytes"` // of the first, with one context
	Context     int64           `json:"context_ns"` // how long that took to make
}

// environmentRole prints what the driver tells of itself and of the GPUs.
func environmentRole(args []string) error {
	d, err := driver.Open(args[0])
	if err != nil {
		return err
	}
	g := found{CUDA: driver.VersionString(d.Version()), Library: d.Library(), Module: d.ModuleVersion()}
	if g.Devices, err = d.Devices(); err != nil {
		return err
	}
	for _, dev := range g.Devices {
		g.UUIDs = append(g.UUIDs, dev.UUID.String())
	}
	began := time.Now()
	t, err := d.Start(g.Devices[0], "gpu-check")
	if err != nil {
		return err
	}
	g.Context = time.Since(began).Nanoseconds()
	err = t.Do(func() (err error) {
		if g.Free, _, err = t.MemInfo(); err != nil {
			return err
		}
		g.Granularity, err = t.Granularity()
		return err
	})
	if err := errors.Join(err, t.Close()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(g)
}

// look asks a child process for the GPUs.
func (r *session) look(ctx context.Context) (*found, error) {
	if err := os.MkdirAll(filepath.Join(r.tmp, "gpu"), 0o700); err != nil {
		return nil, err
	}
	out, err := r.run(ctx, "", "@environment", r.library)
	if err != nil {
		return nil, err
	}
	g := new(found)
	return g, json.Unmarshal([]byte(out), g)
}

// environment writes down where this runs, and looks whether there is a GPU.
func (r *session) environment(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 40*time.Second)
	defer cancel()
	g, failure := r.look(ctx)
	if failure == nil {
		r.found = g.Library
		r.simulated = strings.Contains(g.Devices[0].Name, "SIMULATED")
	}
	var u unix.Utsname
	var files, locked unix.Rlimit
	_ = unix.Uname(&u)
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
	_ = unix.Getrlimit(unix.RLIMIT_MEMLOCK, &locked)
	host := map[string]any{
		"run_id": r.id, "simulated": r.simulated, "gpu": g,
		"kernel": unix.ByteSliceToString(u.Release[:]), "arch": runtime.GOARCH, "cpus": runtime.NumCPU(), "uid": os.Getuid(),
		"nofile": files.Cur, "memlock": locked.Cur, "cpu": cpuModel(),
		"governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		"module":   read("/proc/driver/nvidia/version"),
	}
	if failure == nil {
		bus := "/sys/bus/pci/devices/" + strings.ToLower(g.Devices[0].PCI) + "/"
		host["pci_speed"], host["pci_width"], host["numa_node"] = read(bus+"current_link_speed"), read(bus+"current_link_width"), read(bus+"numa_node")
	} else {
		host["failure"] = failure.Error()
	}
	text, err := json.MarshalIndent(host, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(r.out, "environment.json"), append(text, '\n'), 0o644)
	}
	if err := errors.Join(failure, err); err != nil {
		return err
	}
	dev := g.Devices[0]
	r.step, r.began = "environment", time.Now()
	r.check("GPU", fmt.Sprintf("%s, %s, compute %d.%d, CUDA %s, module %s, %s", dev.Name, dev.UUID, dev.Major, dev.Minor, g.CUDA, g.Module, g.Library), nil)
	if !dev.PosixFD {
		return fmt.Errorf("%s cannot share memory as a file descriptor", dev.Name)
	}
	return nil
}

// read is a small file of the kernel, without what surrounds it; "" if there is none.
func read(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func cpuModel() string {
	for _, line := range strings.Split(read("/proc/cpuinfo"), "\n") {
		if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return ""
}
