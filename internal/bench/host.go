// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Host is the machine that a run was done on. What cannot be read is empty.
type Host struct {
	Kernel      string `json:"kernel"`
	Arch        string `json:"arch"`
	CPU         string `json:"cpu"`
	Cores       int    `json:"cores"`
	Governor    string `json:"governor,omitempty"` // of the first core
	GPU         string `json:"gpu,omitempty"`
	GPUUUID     string `json:"gpu_uuid,omitempty"` // where phases used it
	GPUDriver   string `json:"gpu_driver,omitempty"`
	CUDA        string `json:"cuda,omitempty"` // that its driver speaks
	ClockSource string `json:"clock_source,omitempty"`
	LoadBefore  string `json:"load_before,omitempty"` // /proc/loadavg
	LoadAfter   string `json:"load_after,omitempty"`
}

// ReadHost describes this machine now.
func ReadHost() Host {
	h := Host{
		Arch: runtime.GOARCH, Cores: runtime.NumCPU(),
		CPU:         cpuModel("/proc/cpuinfo"),
		Governor:    FirstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		ClockSource: FirstLine("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
		LoadBefore:  FirstLine("/proc/loadavg"),
	}
	h.GPU, h.GPUDriver = nvidia("/proc/driver/nvidia")
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	return h
}

// FirstLine is that of a small file such as /proc/loadavg, "" if it cannot be
// read.
func FirstLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

// cpuModel reads a file like /proc/cpuinfo, whose words differ between
// architectures.
func cpuModel(path string) string {
	return valueIn(path, "model name", "Model", "Hardware")
}

// valueIn is the value of the first line "key: value" with one of the keys.
func valueIn(path string, keys ...string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	for in.Scan() {
		key, value, ok := strings.Cut(in.Text(), ":")
		for _, k := range keys {
			if ok && strings.TrimSpace(key) == k {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}

// nvidia reads what the kernel module of NVIDIA says of itself and of its
// devices.
func nvidia(root string) (gpus, driver string) {
	driver = FirstLine(filepath.Join(root, "version"))
	driver = strings.TrimSpace(strings.TrimPrefix(driver, "NVRM version:"))
	// A pattern that is well-formed cannot fail.
	files, _ := filepath.Glob(filepath.Join(root, "gpus", "*", "information"))
	var names []string
	for _, f := range files {
		names = append(names, valueIn(f, "Model"))
	}
	return strings.Join(names, ", "), driver
}
