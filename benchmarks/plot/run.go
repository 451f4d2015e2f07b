// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// run is what pictures show of a run.
type run struct {
	ID      string `json:"run_id"`
	Command string `json:"command"`
	Stream  string `json:"stream"`
	// Simulated runs had no GPU, only a driver that does as if.
	Simulated bool    `json:"simulated"`
	Phases    []phase `json:"phases"`
	Host      struct {
		CPU    string `json:"cpu"`
		Kernel string `json:"kernel"`
	} `json:"host"`
}

// phase is a phase of meta.json with its times in microseconds, sorted.
type phase struct {
	Name    string `json:"phase"`
	Backend string `json:"backend"`
	Floor   bool   `json:"floor"`
	Size    int    `json:"payload_bytes"`
	Valid   bool   `json:"valid"`
	// UsableOn is "gpu" where frames ended in memory of one, "host" where they were
	// to and could not, else empty.
	UsableOn string `json:"usable_on"`

	usable []float64 // ready to usable
	read   []float64 // ready to read, where that was measured
}

// readRun reads meta.json and samples.csv.
func readRun(dir string) (*run, error) {
	b, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		return nil, fmt.Errorf("no results of a run: %w", err)
	}
	r := &run{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("meta.json: %w", err)
	}
	f, err := os.Open(filepath.Join(dir, "samples.csv"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := r.readSamples(f); err != nil {
		return nil, fmt.Errorf("samples.csv: %w", err)
	}
	return r, nil
}

func (r *run) readSamples(in io.Reader) error {
	rows := csv.NewReader(in)
	rows.ReuseRecord = true
	header, err := rows.Read()
	if err != nil {
		return fmt.Errorf("no header: %w", err)
	}
	var at [5]int
	for i, name := range []string{"phase", "backend", "ready_ns", "usable_ns", "read_ns"} {
		if at[i] = slices.Index(header, name); at[i] < 0 {
			return fmt.Errorf("no column %q", name)
		}
	}
	byName := make(map[string]*phase)
	for i := range r.Phases {
		byName[r.Phases[i].Name] = &r.Phases[i]
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		p := byName[row[at[0]]]
		if p == nil || row[at[1]] != p.Backend || row[at[2]] == "" {
			continue // of another backend than the phase's, or without a stamp
		}
		var ns [3]int64
		for i := range ns {
			if text := row[at[2+i]]; text != "" {
				if ns[i], err = strconv.ParseInt(text, 10, 64); err != nil {
					return err
				}
			}
		}
		p.usable = append(p.usable, micro(ns[1]-ns[0]))
		if ns[2] != 0 {
			p.read = append(p.read, micro(ns[2]-ns[0]))
		}
	}
	for i := range r.Phases {
		slices.Sort(r.Phases[i].usable)
		slices.Sort(r.Phases[i].read)
	}
	return nil
}

// title is text, with what must not be overlooked.
func (r *run) title(text string) string {
	where := ""
	for i := range r.Phases {
		if r.Phases[i].UsableOn == "gpu" {
			where = ", on the GPU"
		}
	}
	if r.Simulated {
		where = ", on a SIMULATED GPU"
	}
	return text + where
}

// micro is at least a nanosecond: a logarithmic axis has no 0.
func micro(nanos int64) float64 { return float64(max(nanos, 1)) / 1000 }

// quantile of sorted values: the smallest one that q of them do not exceed.
func quantile(sorted []float64, q float64) float64 {
	i := int(q*float64(len(sorted))+0.999999) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// label is what the legend calls a phase.
func (p *phase) label() string {
	text := p.Backend
	switch p.Backend {
	case "floor_shm":
		text = "floor: memory and futex"
	case "floor_tcp":
		text = "floor: socket"
	}
	if p.UsableOn == "host" {
		text += " (host memory)"
	}
	if !p.Valid {
		text += " (NOT VALID)"
	}
	return text
}
