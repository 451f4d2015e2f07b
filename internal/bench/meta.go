// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"maps"
	"slices"
	"time"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Program is the version of the program that measured.
type Program struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the checkout had changes
	Go       string `json:"go"`
}

// Meta is meta.json: where, when, how and of what a run was done. Fields are
// only added.
type Meta struct {
	RunID   string    `json:"run_id"`
	Command string    `json:"command"` // "bench" or "sweep"
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	// Interrupted runs ended before they had everything.
	Interrupted bool           `json:"interrupted"`
	Program     Program        `json:"program"`
	Daemon      string         `json:"daemon_version,omitempty"`
	Host        Host           `json:"host"`
	Clock       string         `json:"clock"`               // of all stamps
	Simulated   bool           `json:"simulated,omitempty"` // there is no GPU, only a driver that does as if
	Stream      string         `json:"stream,omitempty"`
	Geometry    frame.Geometry `json:"geometry,omitzero"`
	Bytes       int            `json:"bytes,omitempty"` // of a frame
	IntervalNS  int64          `json:"interval_ns,omitempty"`
	CaptureFrom string         `json:"capture_clock,omitempty"`
	Subscribers int            `json:"subscribers,omitempty"` // of the stream, this one included
	Options     map[string]any `json:"options,omitempty"`
	Phases      []PhaseMeta    `json:"phases"`
}

// PhaseMeta is a phase in meta.json.
type PhaseMeta struct {
	Phase       string                       `json:"phase"`
	Backend     negotiate.Backend            `json:"backend"`      // asked for, or the name of a floor
	Got         negotiate.Backend            `json:"got,omitzero"` // of the first measured frame
	Floor       bool                         `json:"floor,omitempty"`
	Wake        negotiate.WakeKind           `json:"wake,omitempty"`
	Rejected    []negotiate.Rejected         `json:"rejected,omitempty"` // better ones, and why not
	PayloadSize int                          `json:"payload_bytes,omitempty"`
	Warmup      int                          `json:"warmup"`
	Touched     bool                         `json:"touched"`
	Tapped      int                          `json:"ready_from_shm,omitempty"` // frames whose ready stamp came beside
	UsableOn    string                       `json:"usable_on,omitempty"`      // "gpu", or "host" where a GPU was asked for and is not there
	GPU         string                       `json:"gpu,omitempty"`            // UUID
	NoGPU       string                       `json:"no_gpu,omitempty"`         // why not
	Topic       string                       `json:"topic,omitempty"`
	Router      string                       `json:"router,omitempty"`
	Received    uint64                       `json:"received"`
	Dropped     uint64                       `json:"dropped"`
	Published   uint64                       `json:"published"` // from the first received frame to the last
	First       uint64                       `json:"first_sequence,omitempty"`
	Last        uint64                       `json:"last_sequence,omitempty"`
	Other       map[negotiate.Backend]uint64 `json:"by_other_backend,omitempty"`
	Valid       bool                         `json:"valid"`
	Problems    []string                     `json:"problems,omitempty"`
	Unavailable string                       `json:"unavailable,omitempty"`
	Interrupted bool                         `json:"interrupted,omitempty"`
	Started     time.Time                    `json:"started"`
	Seconds     float64                      `json:"seconds"`
}

// StampClock is the clock of every stamp in the files of a run.
const StampClock = "CLOCK_MONOTONIC"

// Run is a benchmark with what it has measured so far.
type Run struct {
	Meta    Meta
	Results []*Result
}

// NewRun begins a run on this machine.
func NewRun(command string, p Program, options map[string]any) *Run {
	return &Run{Meta: Meta{
		Command: command, Started: time.Now(), Program: p, Host: ReadHost(), Clock: StampClock, Options: options,
		Phases: []PhaseMeta{},
	}}
}

// Add keeps the result of a phase.
func (run *Run) Add(r *Result) {
	run.Results = append(run.Results, r)
	m := &run.Meta
	if m.Daemon == "" {
		m.Daemon = r.Publisher.Version
	}
	m.Subscribers = max(m.Subscribers, r.Publisher.Subscribers)
	if m.Command == commandBench && m.Stream == "" && r.Stream.Name != "" {
		m.Stream, m.Geometry, m.IntervalNS = r.Stream.Name, r.Stream.Geometry, r.Stream.IntervalNS
		m.Bytes, m.CaptureFrom = r.Stream.Geometry.Size(), r.Stream.Clock
	}
	p := PhaseMeta{
		Phase: r.Phase, Backend: r.Asked, Got: r.Path.Backend, Floor: r.Floor, Wake: r.Path.Wake, Rejected: negotiate.Better(r.Path.Rejected, r.Path.Backend),
		PayloadSize: r.Size, Warmup: r.Warmup, Touched: r.Touched, Tapped: r.Tapped, Topic: r.Path.Topic, Router: r.Path.Router,
		Received: r.Received(), Dropped: r.Dropped(), Published: r.Published(), Other: maps.Clone(r.Other()),
		Valid: r.Valid(), Problems: slices.Clone(r.Problems), Unavailable: r.Unavailable, Interrupted: r.Interrupted,
		Started: r.Started, Seconds: r.Elapsed.Seconds(),
	}
	m.addGPU(r.GPU)
	switch {
	case r.GPU != nil:
		p.UsableOn, p.GPU = "gpu", r.GPU.UUID
	case r.NoGPU != "":
		p.UsableOn, p.NoGPU = "host", r.NoGPU
	}
	if n := len(r.Samples); n > 0 {
		p.First, p.Last = r.Samples[0].Sequence, r.Samples[n-1].Sequence
	}
	m.Phases = append(m.Phases, p)
}

// End notes that nothing more comes.
func (run *Run) End(interrupted bool) {
	run.Meta.Ended, run.Meta.Interrupted = time.Now(), interrupted
	run.Meta.Host.LoadAfter = FirstLine("/proc/loadavg")
}

// Rows are those of all phases.
func (run *Run) Rows() []Row {
	var rows []Row
	for _, r := range run.Results {
		rows = append(rows, r.Rows()...)
	}
	return rows
}

// Measured reports whether there is anything to keep.
func (run *Run) Measured() bool {
	return slices.ContainsFunc(run.Results, func(r *Result) bool { return len(r.Samples) > 0 })
}

// The commands that make runs.
const (
	commandBench = "bench"
	commandSweep = "sweep"
)
