// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"

	"github.com/seed-3c7e7623/camd/internal/daemon"
)

// writeGPU shows the GPU, or why there is none, and the streams that have frames
// there.
func writeGPU(w io.Writer, st *daemon.Status) {
	g := st.CUDA
	if g == nil {
		return
	}
	state := "ready"
	if g.Reason != "" {
		state = string(g.Reason)
	}
	fmt.Fprintf(w, "\nGPU\tSTATE\tUUID\tCUDA\tHANDLE\tRINGS\tMEMORY\tPROBLEM\n%s\t%s\t%s\t%s\t%s\t%d\t%.1f MB\t%s\n", plain(dash(g.GPU)), state,
		dash(g.UUID), dash(g.CUDA), dash(string(g.Handle)), g.Rings, float64(g.RingBytes)/1e6, dash(plain(g.Detail)))
	head := "\nON THE GPU\tFRAMES\tBYTES\tSUPERSEDED\tNO_SLOT\tERRORS\tPINNED\tSLOTS FREE\tMEMORY\n"
	for _, s := range st.Streams {
		r := s.DeviceRing
		if r == nil {
			continue
		}
		pinned := "no"
		if r.Pinned {
			pinned = "yes"
		}
		fmt.Fprintf(w, "%s%s\t%d\t%.1f MB\t%d\t%d\t%d\t%s\t%d of %d\t%.1f MB\n", head, s.Name, r.Frames, float64(r.Bytes)/1e6, r.Superseded, r.NoSlot,
			r.Errors, pinned, r.Free, r.Slots, float64(r.RingBytes)/1e6)
		head = ""
	}
}
