// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// meta is where, when and how a run was done: meta.json.
type meta struct {
	RunID       string    `json:"run_id"`
	Started     time.Time `json:"started"`
	Ended       time.Time `json:"ended"`
	Interrupted bool      `json:"interrupted"` // stopped early: not everything is there
	Commit      string    `json:"commit,omitempty"`
	Modified    bool      `json:"modified"` // the checkout had changes
	Go          string    `json:"go"`
	Kernel      string    `json:"kernel"`
	Arch        string    `json:"arch"`
	CPU         string    `json:"cpu"`
	Cores       int       `json:"cores"`
	Governor    string    `json:"governor,omitempty"` // of the first core, where it can be read
	LoadBefore  string    `json:"load_before"`        // /proc/loadavg
	LoadAfter   string    `json:"load_after"`
	StolenShare float64   `json:"stolen_share"` // of the time of all cores, by the hypervisor
	Options     Options   `json:"options"`
	Skipped     []string  `json:"skipped,omitempty"`

	before ticks
}

func newMeta(o Options) *meta {
	m := &meta{
		Started: time.Now(), Go: runtime.Version(), Arch: runtime.GOARCH, Cores: runtime.NumCPU(),
		CPU: cpuModel(), Governor: firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		LoadBefore: firstLine("/proc/loadavg"), Options: o, before: readTicks(),
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	m.Commit, m.Modified = commit()
	return m
}

func (m *meta) finish(interrupted bool, skipped []string) {
	m.Ended, m.Interrupted, m.Skipped = time.Now(), interrupted, skipped
	m.LoadAfter = firstLine("/proc/loadavg")
	m.StolenShare = readTicks().stolenSince(m.before)
}

// commit is what the toolchain stored, else what git says in this folder.
func commit() (id string, modified bool) {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				id = s.Value
			case "vcs.modified":
				modified = s.Value == "true"
			}
		}
	}
	if id != "" {
		return id, modified
	}
	head, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "", false
	}
	changes, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output()
	return strings.TrimSpace(string(head)), err != nil || len(changes) > 0
}

func firstLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

// cpuModel reads /proc/cpuinfo, whose words differ between architectures.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	for in.Scan() {
		key, value, ok := strings.Cut(in.Text(), ":")
		switch strings.TrimSpace(key) {
		case "model name", "Model", "Hardware":
			if ok {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}
