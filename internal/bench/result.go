// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Result is what a phase measured. It travels between processes.
type Result struct {
	Phase     string
	Asked     negotiate.Backend
	Path      client.Path // by which the first measured frame came
	Stream    negotiate.StreamInfo
	Size      int // payload in bytes, of a sweep
	Floor     bool
	Warmup    int
	Touched   bool
	Tapped    int // samples whose ready was told by shared memory beside
	Publisher Publisher
	// GPU is in whose memory frames were usable, nil: in that of the host. NoGPU is
	// why, if it was to be a GPU.
	GPU     *GPUInfo
	NoGPU   string
	Samples []Sample // in order, those by another backend too
	Loads   Loads
	// Problems spoil the phase: it is not valid if there are any.
	Problems []string
	// Unavailable is why there is no phase at all.
	Unavailable string
	Interrupted bool // it ended before it had all its samples
	Started     time.Time
	Elapsed     time.Duration // from the first measured frame to the last
}

// Valid reports whether the figures mean what they say.
func (r *Result) Valid() bool { return r.Unavailable == "" && len(r.Problems) == 0 }

// Received is the number of frames that were taken while the phase measured.
func (r *Result) Received() uint64 { return uint64(len(r.Samples)) }

// Published is how many frames the publisher counted from the first received
// one to the last. It is Received + Dropped unless the count went back, which
// is a problem of the phase.
func (r *Result) Published() uint64 {
	if len(r.Samples) == 0 {
		return 0
	}
	first, last := r.Samples[0].Sequence, r.Samples[len(r.Samples)-1].Sequence
	if last < first {
		return 0
	}
	return last - first + 1
}

// Dropped is the number of frames in the gaps between received ones.
func (r *Result) Dropped() uint64 {
	var n uint64
	for i := 1; i < len(r.Samples); i++ {
		if before, now := r.Samples[i-1].Sequence, r.Samples[i].Sequence; now > before {
			n += now - before - 1
		}
	}
	return n
}

// Other counts the frames that came by another backend than the one that was
// asked for.
func (r *Result) Other() map[negotiate.Backend]uint64 {
	var n map[negotiate.Backend]uint64
	for i := range r.Samples {
		if b := r.Samples[i].Backend; b != r.Asked {
			if n == nil {
				n = make(map[negotiate.Backend]uint64)
			}
			n[b]++
		}
	}
	return n
}

// explainOther says how many frames came by which other backend, and why.
func (r *Result) explainOther() string {
	other := r.Other()
	var parts []string
	for _, b := range slices.Sorted(maps.Keys(other)) {
		parts = append(parts, fmt.Sprintf("%d by %s", other[b], b))
	}
	if len(parts) == 0 {
		return ""
	}
	text := fmt.Sprintf("%s of %d frames, not by %s", strings.Join(parts, ", "), r.Received(), r.Asked)
	for _, why := range r.Path.Rejected {
		if why.Backend == r.Asked {
			text += fmt.Sprintf(" (%s)", negotiate.Summary([]negotiate.Rejected{why}))
		}
	}
	return text
}
