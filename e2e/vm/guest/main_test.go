// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"fmt"
	"os"
	"testing"

	"github.com/seed-3c7e7623/camd/e2e/vm/inside"
)

// The machine's cameras. One loading of vivid makes all of them; their order is
// that of the parameters below.
const (
	camMain    = "/dev/video0" // HDMI, everything is possible
	camPlanes  = "/dev/video1" // HDMI, multi-planar
	camContig  = "/dev/video2" // HDMI, its driver refuses memory of others
	camWebcam  = "/dev/video3" // webcam: discrete sizes, a rate for each
	camUnplug  = "/dev/video4" // HDMI, is unplugged by its test
	vividParam = "n_devs=5 node_types=0x1,0x1,0x1,0x1,0x1 num_inputs=1,1,1,1,1 input_types=3,3,3,0,3 multiplanar=1,2,1,1,1 allocators=0,0,1,0,0"
)

// TestMain is the init process of the machine when it is the first one.
func TestMain(m *testing.M) {
	if os.Getenv(bareVariable) != "" {
		if err := bare(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if !inside.First() {
		os.Exit(m.Run())
	}
	inside.Run(vividParam, m.Run)
}
