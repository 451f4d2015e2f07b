// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	machine "github.com/seed-3c7e7623/camd/internal/bench"
)

// meta is where, when and how a run was done: meta.json.
type meta struct {
	RunID        string    `json:"run_id"`
	Started      time.Time `json:"started"`
	Ended        time.Time `json:"ended"`
	Interrupted  bool      `json:"interrupted"` // stopped early: not everything is there
	Commit       string    `json:"commit,omitempty"`
	Modified     bool      `json:"modified"` // the checkout had changes
	Go           string    `json:"go"`
	machine.Host           // its fields lie beside the others
	StolenShare  float64   `json:"stolen_share"` // of the time of all cores, by the hypervisor
	Options      Options   `json:"options"`
	Skipped      []string  `json:"skipped,omitempty"`

	before ticks
}

func newMeta(o Options) *meta {
	m := &meta{Started: time.Now(), Go: runtime.Version(), Host: machine.ReadHost(), Options: o, before: readTicks()}
	m.Commit, m.Modified = commit()
	return m
}

func (m *meta) finish(interrupted bool, skipped []string) {
	m.Ended, m.Interrupted, m.Skipped = time.Now(), interrupted, skipped
	m.LoadAfter = machine.FirstLine("/proc/loadavg")
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
