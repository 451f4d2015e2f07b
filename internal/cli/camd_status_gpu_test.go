// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/backend/cuda"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/negotiate"
)

func TestStatusTextOfGPU(t *testing.T) {
	stream := daemon.StreamStatus{
		StreamInfo: negotiate.StreamInfo{Name: "front/color"},
		DeviceRing: &cuda.StreamStatus{Slots: 27, Free: 25, RingBytes: 169_869_312, Pinned: true, Frames: 120, Bytes: 746_496_000, Superseded: 3},
	}
	for name, c := range map[string]struct {
		st   daemon.Status
		want []string
	}{
		"ready": {
			daemon.Status{CUDA: &cuda.Status{GPU: "NVIDIA H200", UUID: "GPU-1", CUDA: "13.0", Handle: negotiate.HandleVMM, Rings: 1, RingBytes: 169_869_312}, Streams: []daemon.StreamStatus{stream}},
			[]string{"NVIDIA H200 ready GPU-1 13.0 vmm_fd 1 169.9 MB -", "front/color 120 746.5 MB 3 0 0 yes 25 of 27 169.9 MB"},
		},
		"none":        {daemon.Status{CUDA: &cuda.Status{Reason: negotiate.ReasonNoDriver, Detail: "not\tfound"}}, []string{"- no_driver - - - 0 0.0 MB not found"}},
		"without use": {daemon.Status{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := writeStatus(&out, &c.st, time.Time{}); err != nil {
				t.Fatal(err)
			}
			text := strings.Join(strings.Fields(out.String()), " ")
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, out.String())
				}
			}
			if got := strings.Contains(text, "GPU STATE"); got != (c.want != nil) {
				t.Errorf("says something of a GPU: %v\n%s", got, out.String())
			}
		})
	}
}
