// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// seedFile adds a golden file to the seeds.
func seedFile(f *testing.F, name string) {
	f.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "bench", name))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
}

// FuzzReadRun reads files that somebody else may have changed.
func FuzzReadRun(f *testing.F) {
	seedFile(f, RowsFile)
	seedFile(f, SamplesFile)
	f.Add([]byte("phase,metric,unit,count,mean,p50,p99\nshm,period,ns,1,1,1,\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &Stored{Meta: Meta{Phases: []PhaseMeta{{Phase: "shm", Backend: "shm"}}}}
		rows, samples := s.readRows(bytes.NewReader(b)), s.readSamples(bytes.NewReader(b))
		if rows == nil && len(s.Rows) > 0 {
			_ = CompareTable(Compare([]*Stored{s}, []*Stored{s}))
		}
		_ = samples // an error is as good as a result
	})
}
