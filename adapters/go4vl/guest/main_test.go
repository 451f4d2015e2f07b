// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"os"
	"testing"

	"github.com/seed-3c7e7623/camd/e2e/vm/inside"
)

// The machine's cameras.
const (
	camMain    = "/dev/video0" // HDMI, everything is possible
	camWebcam  = "/dev/video1" // webcam: discrete sizes, a rate for each
	camUnplug  = "/dev/video2" // HDMI, is unplugged
	vividParam = "n_devs=3 node_types=0x1,0x1,0x1 num_inputs=1,1,1 input_types=3,0,3"
)

// Controls of vivid (vivid-core.h).
const (
	ctrlTextMode   = 0x00f0f001
	ctrlDropped    = 0x00f0f040
	ctrlDisconnect = 0x00f0f041
	ctrlErrorFlag  = 0x00f0f042
	ctrlStreamOn   = 0x00f0f045
	ctrlFatalError = 0x00f0f046
	textNone       = 2
)

func TestMain(m *testing.M) {
	if !inside.First() {
		os.Exit(m.Run())
	}
	inside.Run(vividParam, m.Run)
}

func set(t *testing.T, path string, id uint32, value int32) {
	t.Helper()
	if err := inside.Control(path, id, value); err != nil {
		t.Fatalf("%s: control %#x=%d: %v", path, id, value, err)
	}
}
