// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// gpuRemarks says on which GPU phases measured, and which of them did not.
func gpuRemarks(run *Run) string {
	var names, host, why []string
	floors, simulated := false, false
	note := func(list *[]string, text string) {
		if !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	for _, r := range run.Results {
		switch {
		case r.Unavailable != "":
		case r.NoGPU != "":
			host = append(host, r.Phase)
			note(&why, r.NoGPU)
		case r.GPU != nil:
			note(&names, r.GPU.String())
			simulated = simulated || r.GPU.Simulated()
		}
		floors = floors || r.Floor
	}
	var b strings.Builder
	if len(host) > 0 {
		fmt.Fprintf(&b, "\n%s: usable in host memory, not on a GPU: %s\n", strings.Join(host, ", "), strings.Join(why, "; "))
	}
	if len(names) == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "\nusable = complete in memory of %s; what comes by shm or cpu is uploaded first", strings.Join(names, ", "))
	if floors {
		b.WriteString("; floors end in host memory")
	}
	b.WriteString("\n")
	if simulated {
		b.WriteString("\n" + simulatedText + "\n")
	}
	return b.String()
}

// simulatedText is what people must see beside every figure of such a run.
const simulatedText = "SIMULATED GPU: a test of the ways, its times say nothing of a GPU"

// SimulatedNote is the warning for a run without a real GPU, "" for others.
func (run *Run) SimulatedNote() string {
	if !run.Meta.Simulated {
		return ""
	}
	return simulatedText
}

// addGPU notes the GPU of a phase.
func (m *Meta) addGPU(i *GPUInfo) {
	if i == nil {
		return
	}
	h := &m.Host
	h.GPU, h.GPUUUID, h.CUDA = i.Name, i.UUID, i.CUDA
	if i.Simulated() {
		h.GPUDriver, m.Simulated = "", true
		return
	}
	h.GPUDriver = cmp.Or(i.Driver, h.GPUDriver)
}
