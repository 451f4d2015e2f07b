// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// ErrNoRun: a folder holds no run that is whole.
var ErrNoRun = errors.New("no results of a run")

// ErrRunFile: a file of a run is not what this program writes.
var ErrRunFile = errors.New("damaged results")

// maxRunFile bounds what is read of one file.
const maxRunFile = 4 << 30

// Stored is a run that was read back.
type Stored struct {
	Meta Meta
	// Rows are those of latency.csv by phase and metric.
	Rows map[Key]StoredRow
	// Times are the values of each metric in the order in which frames came,
	// from samples.csv, in nanoseconds.
	Times map[Key][]int64
}

// Key is a metric of a phase.
type Key struct {
	Phase  string `json:"phase"`
	Metric Metric `json:"metric"`
}

// StoredRow is a row of latency.csv, in the row's unit.
type StoredRow struct {
	Unit           Unit
	Count          uint64
	Mean, P50, P99 float64
}

// LoadRuns reads the run in a folder, or all runs in the folders below it, by
// name. It fails with ErrNoRun or ErrRunFile.
func LoadRuns(dir string) ([]*Stored, error) {
	if _, err := os.Stat(filepath.Join(dir, MetaFile)); err == nil {
		r, err := loadRun(dir)
		return []*Stored{r}, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoRun, err)
	}
	var out []*Stored
	for _, e := range entries {
		r, err := loadRun(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) || !e.IsDir() {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w in %s: there is no %s", ErrNoRun, dir, MetaFile)
	}
	return out, nil
}

func loadRun(dir string) (*Stored, error) {
	s := &Stored{}
	b, err := os.ReadFile(filepath.Join(dir, MetaFile))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &s.Meta); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrRunFile, filepath.Join(dir, MetaFile), err)
	}
	for _, file := range []struct {
		name string
		read func(io.Reader) error
	}{{RowsFile, s.readRows}, {SamplesFile, s.readSamples}} {
		path := filepath.Join(dir, file.name)
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRunFile, err)
		}
		err = file.read(io.LimitReader(f, maxRunFile))
		_ = f.Close() // it was only read
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrRunFile, path, err)
		}
	}
	return s, nil
}

// table reads a CSV file whose first line names at least the wanted columns,
// and hands out each row's wanted fields.
func table(in io.Reader, wanted []string, row func(fields []string) error) error {
	r := csv.NewReader(in)
	r.ReuseRecord = true
	header, err := r.Read()
	if err != nil {
		return fmt.Errorf("no header: %w", err)
	}
	at := make([]int, len(wanted))
	for i, name := range wanted {
		if at[i] = slices.Index(header, name); at[i] < 0 {
			return fmt.Errorf("no column %q", name)
		}
	}
	fields := make([]string, len(wanted))
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i, j := range at {
			fields[i] = record[j]
		}
		if err := row(fields); err != nil {
			line, _ := r.FieldPos(0)
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

func (s *Stored) readRows(in io.Reader) error {
	s.Rows = make(map[Key]StoredRow)
	return table(in, []string{"phase", "metric", "unit", "count", "mean", "p50", "p99"}, func(f []string) error {
		n, err := strconv.ParseUint(f[3], 10, 64)
		if err != nil {
			return err
		}
		row := StoredRow{Unit: Unit(f[2]), Count: n}
		for i, to := range []*float64{&row.Mean, &row.P50, &row.P99} {
			if n == 0 {
				break
			}
			if *to, err = strconv.ParseFloat(f[4+i], 64); err != nil {
				return err
			}
		}
		s.Rows[Key{f[0], Metric(f[1])}] = row
		return nil
	})
}

func (s *Stored) readSamples(in io.Reader) error {
	backends := make(map[string]negotiate.Backend)
	for _, p := range s.Meta.Phases {
		backends[p.Phase] = p.Backend
	}
	results := make(map[string]*Result)
	wanted := []string{"phase", "backend", "sequence", "capture_ns", "ready_ns", "publish_ns", "usable_ns", "read_ns"}
	err := table(in, wanted, func(f []string) error {
		r := results[f[0]]
		if r == nil {
			r = &Result{Phase: f[0], Asked: backends[f[0]]}
			results[f[0]] = r
		}
		x := Sample{Backend: negotiate.Backend(f[1])}
		var err error
		if x.Sequence, err = strconv.ParseUint(f[2], 10, 64); err != nil {
			return err
		}
		for i, to := range []*int64{&x.CaptureNanos, &x.ReadyNanos, &x.PublishNanos, &x.UsableNanos, &x.ReadNanos} {
			if f[3+i] == "" {
				continue
			}
			if *to, err = strconv.ParseInt(f[3+i], 10, 64); err != nil {
				return err
			}
		}
		r.Samples = append(r.Samples, x)
		return nil
	})
	s.Times = make(map[Key][]int64)
	for name, r := range results {
		for _, m := range []Metric{ReadyToUsable, PublishToUsable, CaptureToUsable, ReadyToRead, Period} {
			if v := r.values(m); len(v) > 0 {
				s.Times[Key{name, m}] = v
			}
		}
	}
	return err
}

// medianOf is the lower median.
func medianOf(values []int64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return float64(sorted[(len(sorted)-1)/2])
}
