// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// The first use decides which of two GPUs it is. A stream that is made before frames
// by cuda came shuts out those of the second GPU, and the reason says so and what to do.
func TestStreamBeforeFrames(t *testing.T) {
	for name, tc := range map[string]struct {
		opts  []Option
		early bool
		says  string // of why not cuda
	}{
		"with the first frame": {},
		"before, first GPU":    {early: true, says: "gpu.WithDevice names another"},
		"before, named":        {early: true, opts: []Option{WithDevice(sim.UUID(1))}},
	} {
		t.Run(name, func(t *testing.T) {
			rules(t)
			d := newDaemon(t, cuda, shm) // on the second GPU
			dev := opened(t, tc.opts...)
			var stream Stream
			if tc.early {
				stream = newStream(t, dev)
			}
			s := d.subscribe(dev)
			f := next(t, s, d.publish())
			if stream == 0 {
				stream = newStream(t, dev)
			}
			if _, err := f.OnDevice(stream); err != nil {
				t.Error(err)
			}
			released(t, f)
			p := s.Path()
			if tc.says == "" {
				if p.Backend != cuda || p.GPU != sim.UUID(1) || dev.UUID() != sim.UUID(1) {
					t.Errorf("path %+v on %s", p, dev.UUID())
				}
				return
			}
			if p.Backend != shm || len(p.Rejected) != 1 || p.Rejected[0].Reason != negotiate.ReasonDifferentGPU || !strings.Contains(p.Rejected[0].Detail, tc.says) {
				t.Errorf("path %+v", p)
			}
		})
	}
}
