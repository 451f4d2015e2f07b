// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Whatever a daemon says of memory of a GPU that it does not have: the client
// says why it cannot be, takes the next backend, and keeps nothing.
func TestOffersThatCannotBe(t *testing.T) {
	pipe := func(t *testing.T) int {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeFiles(p[:]) })
		return p[0]
	}
	for name, tc := range map[string]struct {
		lie  func(t *testing.T, o *negotiate.Offer, fds []int)
		want negotiate.Reason
	}{
		"more bytes":           {func(_ *testing.T, o *negotiate.Offer, _ []int) { o.Device.Bytes *= 8 }, negotiate.ReasonGPUError},
		"a terabyte":           {func(_ *testing.T, o *negotiate.Offer, _ []int) { o.Device.Bytes = 1 << 40 }, negotiate.ReasonLimit},
		"a piece":              {func(_ *testing.T, o *negotiate.Offer, _ []int) { o.Device.Bytes -= 4000 }, negotiate.ReasonGPUError},
		"a GPU of no name":     {func(_ *testing.T, o *negotiate.Offer, _ []int) { o.Device.UUID = "GPU-1" }, negotiate.ReasonDifferentGPU},
		"another GPU":          {func(_ *testing.T, o *negotiate.Offer, _ []int) { o.Device.UUID = sim.UUID(3) }, negotiate.ReasonDifferentGPU},
		"another kind":         {func(_ *testing.T, o *negotiate.Offer, _ []int) { o.Device.Handle = "legacy" }, negotiate.ReasonVMMUnsupported},
		"a pipe":               {func(t *testing.T, _ *negotiate.Offer, fds []int) { fds[1] = pipe(t) }, negotiate.ReasonGPUError},
		"the header":           {func(_ *testing.T, _ *negotiate.Offer, fds []int) { fds[1] = fds[0] }, negotiate.ReasonGPUError},
		"memory for a header":  {func(_ *testing.T, _ *negotiate.Offer, fds []int) { fds[0] = fds[1] }, negotiate.ReasonProbeMismatch},
		"another place's ring": {func(_ *testing.T, o *negotiate.Offer, _ []int) { o.Layout.Epoch++ }, negotiate.ReasonProbeMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			rules(t, "S22", "S27", "S28") // which it tries
			d := newDaemon(t, cuda, shm)
			d.mu.Lock()
			d.lie = func(o *negotiate.Offer, fds []int) { tc.lie(t, o, fds) }
			d.mu.Unlock()
			s := d.subscribe(opened(t))
			if p := <-d.answers; p.OK || p.Reason != tc.want || p.Detail == "" {
				t.Errorf("the client answers %+v, want %s", p, tc.want)
			}
			if p := s.Path(); p.Backend != shm {
				t.Errorf("path %+v", p)
			}
			f := next(t, s, d.publish())
			if len(f.Data()) == 0 || f.Data()[0] != byte(d.sequence) {
				t.Error("no frame")
			}
			released(t, f)
		})
	}
}
