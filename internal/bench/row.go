// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import "github.com/seed-3c7e7623/camd/internal/measure"

// Metric is one quantity of a phase.
type Metric string

// The metrics, in the order of every table. Usable is the moment at which the
// program has the frame in hand and can read its pixels.
const (
	ReadyToUsable   Metric = "ready_to_usable"   // the headline: from complete to usable
	PublishToUsable Metric = "publish_to_usable" // from the begin of the hand-over
	CaptureToUsable Metric = "capture_to_usable" // from capture
	ReadyToRead     Metric = "ready_to_read"     // until every byte was read, where that was asked for
	Period          Metric = "period"            // from usable to usable of the next received frame
	SubscriberCPU   Metric = "subscriber_cpu"
	PublisherCPU    Metric = "publisher_cpu"
	SystemCPU       Metric = "system_cpu"
	GPULoad         Metric = "gpu_load"   // of the subscriber's GPU, where it is told
	GPUMemory       Metric = "gpu_memory" // in use there, by all processes
)

// Unit is the unit of a metric.
type Unit string

// Nanoseconds are whole; percent is of one core for processes and of all cores
// for the system.
const (
	Nanoseconds Unit = "ns"
	Percent     Unit = "percent"
	KiB         Unit = "KiB"
)

// Row is one metric of one phase: a line of latency.csv. The distribution is in
// nanoseconds, KiB, or hundredths of per cent.
type Row struct {
	Phase   string
	Metric  Metric
	Unit    Unit
	Dist    measure.Distribution
	Dropped uint64
}

// latency is what a sample says of a metric; ok is false if a stamp is missing.
func (s *Sample) latency(m Metric) (nanos int64, ok bool) {
	from, to := s.ReadyNanos, s.UsableNanos
	switch m {
	case PublishToUsable:
		from = s.PublishNanos
	case CaptureToUsable:
		from = s.CaptureNanos
	case ReadyToRead:
		to = s.ReadNanos
	}
	return to - from, from != 0 && to != 0
}

// values are the times of a metric in the order in which frames came; frames by
// another backend than the phase's are left out.
func (r *Result) values(m Metric) []int64 {
	var out []int64
	for i := range r.Samples {
		s := &r.Samples[i]
		if s.Backend != r.Asked {
			continue
		}
		if m == Period {
			if i > 0 && r.Samples[i-1].Backend == r.Asked {
				out = append(out, s.UsableNanos-r.Samples[i-1].UsableNanos)
			}
			continue
		}
		if v, ok := s.latency(m); ok {
			out = append(out, v)
		}
	}
	return out
}

// Rows are the metrics of a phase. A phase that could not be had has none.
func (r *Result) Rows() []Row {
	if r.Unavailable != "" {
		return nil
	}
	var rows []Row
	add := func(m Metric, u Unit, values []int64) {
		h := measure.NewHistogram()
		for _, v := range values {
			h.Record(v)
		}
		rows = append(rows, Row{Phase: r.Phase, Metric: m, Unit: u, Dist: h.Distribution(), Dropped: r.Dropped()})
	}
	for _, m := range []Metric{ReadyToUsable, PublishToUsable, CaptureToUsable, ReadyToRead, Period} {
		if m == ReadyToRead && !r.Touched || m == CaptureToUsable && r.Floor || m == PublishToUsable && r.Floor {
			continue
		}
		add(m, Nanoseconds, r.values(m))
	}
	add(SubscriberCPU, Percent, r.Loads.Subscriber)
	add(PublisherCPU, Percent, r.Loads.Publisher)
	add(SystemCPU, Percent, r.Loads.System)
	if len(r.Loads.GPU) > 0 {
		add(GPULoad, Percent, r.Loads.GPU)
		add(GPUMemory, KiB, r.Loads.GPUMemory)
	}
	return rows
}

// find is the row of a metric.
func find(rows []Row, m Metric) (Row, bool) {
	for _, r := range rows {
		if r.Metric == m {
			return r, true
		}
	}
	return Row{}, false
}
