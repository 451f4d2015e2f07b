// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import "github.com/seed-3c7e7623/camd/internal/measure"

// Summary is the document of --format json.
type Summary struct {
	Meta
	Rows []SummaryRow `json:"rows"`
}

// SummaryRow is a row of latency.csv as JSON. Figures are whole, in the unit:
// "ns", or "percent_hundredths".
type SummaryRow struct {
	Phase   string               `json:"phase"`
	Metric  Metric               `json:"metric"`
	Unit    string               `json:"unit"`
	Dist    measure.Distribution `json:"values"`
	Dropped uint64               `json:"dropped"`
}

// Summary returns it.
func (run *Run) Summary() Summary {
	s := Summary{Meta: run.Meta, Rows: []SummaryRow{}}
	for _, r := range run.Rows() {
		unit := string(r.Unit)
		if r.Unit == Percent {
			unit = "percent_hundredths"
		}
		s.Rows = append(s.Rows, SummaryRow{r.Phase, r.Metric, unit, r.Dist, r.Dropped})
	}
	return s
}
