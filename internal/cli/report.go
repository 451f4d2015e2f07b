// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/csv"
	"strconv"
	"strings"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/internal/measure"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// measurement is the head of every JSON summary. Times are in seconds.
type measurement struct {
	Command    string               `json:"command"`
	Stream     string               `json:"stream"`
	Backend    negotiate.Backend    `json:"backend"`
	Wake       negotiate.WakeKind   `json:"wake,omitempty"`
	Rejected   []negotiate.Rejected `json:"rejected,omitempty"` // better backends, and why not
	GPU        string               `json:"gpu,omitempty"`      // UUID, by cuda
	GPUName    string               `json:"gpu_name,omitempty"` // says so if it is simulated
	Duration   float64              `json:"duration_s"`
	Frames     uint64               `json:"frames"` // taken
	Missed     uint64               `json:"missed"` // published between them and not taken
	Reconnects uint64               `json:"reconnects"`
	// PathChanges is how often frames came by another backend than before:
	// Backend is the last one.
	PathChanges uint64        `json:"path_changes,omitempty"`
	Host        string        `json:"host,omitempty"` // that has the camera, if it is another one
	Verify      *verifyResult `json:"verify,omitempty"`

	// By cpu: messages that are no frames, by reason, and how often the system
	// clock was set, after which ages are not to be relied on.
	Ignored    map[client.IgnoreReason]uint64 `json:"ignored,omitempty"`
	ClockSteps uint64                         `json:"clock_steps,omitempty"`
}

func (s summary) head(command string) measurement {
	m := measurement{
		Command: command, Stream: s.stream, Backend: s.path.Backend, Wake: s.path.Wake, Rejected: negotiate.Better(s.path.Rejected, s.path.Backend),
		GPU: s.path.GPU, GPUName: s.path.GPUName,
		Duration: float64(s.tookNanos) / 1e9, Frames: s.frames, Missed: s.stats.Missed, Reconnects: s.stats.Reconnects, PathChanges: s.stats.PathChanges, Host: s.path.Host, Ignored: s.stats.Ignored, ClockSteps: s.stats.ClockSteps,
	}
	if s.verifyUsed {
		m.Verify = &s.verify
	}
	return m
}

// table collects the columns of a summary with one row.
type table struct{ names, values []string }

func (t *table) text(name, value string) {
	t.names, t.values = append(t.names, name), append(t.values, value)
}
func (t *table) count(name string, n uint64)    { t.text(name, strconv.FormatUint(n, 10)) }
func (t *table) number(name string, v float64)  { t.text(name, strconv.FormatFloat(v, 'f', -1, 64)) }
func (t *table) seconds(name string, v float64) { t.text(name, strconv.FormatFloat(v, 'f', 9, 64)) }

// spread adds min, mean, max and stddev under a name and unit, "_s" for seconds.
func (t *table) spread(name, unit string, s measure.Spread, add func(*table, string, float64)) {
	if s.Count == 0 { // there was nothing to measure
		add = func(t *table, name string, _ float64) { t.text(name, "") }
	}
	add(t, name+"_min"+unit, s.Min)
	add(t, name+"_mean"+unit, s.Mean)
	add(t, name+"_max"+unit, s.Max)
	add(t, name+"_stddev"+unit, s.StdDev)
}

// head begins a table with the columns that every command has.
func (t *table) head(m measurement) {
	t.text("stream", m.Stream)
	t.text("backend", string(m.Backend))
	t.seconds("duration_s", m.Duration)
	t.count("frames", m.Frames)
	t.count("missed", m.Missed)
	t.count("reconnects", m.Reconnects)
	v := m.Verify
	if v == nil {
		v = &verifyResult{}
	}
	t.count("verified", v.Frames)
	t.count("torn", v.Torn)
	t.count("stale", v.Stale)
}

// String is the header and the row, without a newline at its end.
func (t *table) String() string { return csvText([][]string{t.names, t.values}) }

func csvText(rows [][]string) string {
	var b strings.Builder
	out := csv.NewWriter(&b)
	// Writing into a string cannot fail.
	_ = out.WriteAll(rows)
	return strings.TrimSuffix(b.String(), "\n")
}

func jsonText(v any) (string, error) {
	var b strings.Builder
	if err := printJSON(&b, v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
