// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"testing"

	"github.com/seed-3c7e7623/camd/capture/v4l2"
)

// Every camera of the machine is found, with what tells it from the others.
func TestNodes(t *testing.T) {
	nodes := v4l2.Nodes("/")
	if len(nodes) != 5 {
		t.Fatalf("%d nodes, want 5: %+v", len(nodes), nodes)
	}
	for i, want := range []string{camMain, camPlanes, camContig, camWebcam, camUnplug} {
		d, err := v4l2.Open(want)
		if err != nil {
			t.Fatal(err)
		}
		if nodes[i].Path != want || nodes[i].Name == "" || nodes[i].Parent == "" {
			t.Errorf("node %d: %+v, want %s with a name and a parent", i, nodes[i], want)
		}
		if !d.Info.Capture || d.Info.Driver != "vivid" || d.Info.MultiPlanar != (want == camPlanes) {
			t.Errorf("%s: %+v", want, d.Info)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
