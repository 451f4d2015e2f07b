// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"context"
	"testing"

	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/frame"
)

func TestColorOfTheStream(t *testing.T) {
	for e, want := range map[frame.Encoding]frame.Color{
		frame.NV12:       {Matrix: frame.BT601, Range: frame.Limited},
		frame.YUV422YUY2: {Matrix: frame.BT601, Range: frame.Limited},
		frame.BGRA8:      {},
		frame.Mono8:      {},
	} {
		t.Run(string(e), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			seen := 0
			sink := &capturetest.Sink{OnFrame: func(f capturetest.Frame) {
				if seen++; f.Format.Color != want {
					t.Errorf("%v, want %v", f.Format.Color, want)
				}
				cancel()
			}}
			_ = mustNew(t, "t=pattern,64x48@0,encoding="+string(e)).Run(ctx, sink)
			if seen == 0 {
				t.Error("no frame")
			}
		})
	}
}
