// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Report is one breach of a rule, as the library saw it.
type Report struct {
	// Rule is S1 to S40, RACE (memory used with no order between the uses), ABI
	// (a form of the interface that no program may call) or P28 (a wait that
	// spins). README.md says what each means.
	Rule string `json:"rule"`
	// Call is the function of the driver in which it was seen.
	Call string `json:"call"`
	PID  int    `json:"pid"`
	TID  int    `json:"tid"`
	Text string `json:"text"`
}

func (r Report) String() string {
	return fmt.Sprintf("%s in %s (process %d, thread %d): %s", r.Rule, r.Call, r.PID, r.TID, r.Text)
}

// Reports are those of all processes of a run so far, in the order in which
// they came.
func Reports(t testing.TB, dir string) []Report {
	t.Helper()
	reports, err := ReadReports(dir)
	if err != nil {
		t.Fatal(err)
	}
	return reports
}

// ReadReports is Reports outside of tests.
func ReadReports(dir string) ([]Report, error) {
	text, err := os.ReadFile(filepath.Join(dir, "reports.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var reports []Report
	for line := range bytes.Lines(text) {
		var r Report
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("report %q: %w", line, err)
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// Clean fails the test for each report of the run, but those of the rules that
// it allows.
func Clean(t testing.TB, dir string, allowed ...string) {
	t.Helper()
next:
	for _, r := range Reports(t, dir) {
		for _, a := range allowed {
			if r.Rule == a {
				continue next
			}
		}
		t.Errorf("rule broken: %v", r)
	}
}
