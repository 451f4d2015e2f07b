// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"slices"

	"github.com/seed-3c7e7623/camd/backend/cpu"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/kinds"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// CameraTopic is a topic on which a camera may publish.
type CameraTopic struct {
	Name   string
	Stream string // without the camera
	Info   bool   // camera_info, which stands beside every topic of pictures
}

// Topics lists the topics on which a camera may publish, whatever its device
// turns out to give; each once. Options that make no sense have none.
func (n *Network) Topics(spec capture.Spec) []CameraTopic {
	outs, err := takeOutputs(&spec)
	if err != nil {
		return nil
	}
	var all []CameraTopic
	add := func(t CameraTopic) {
		if n.Access.publish(t.Name, spec.Name+"/"+t.Stream) == nil && !slices.ContainsFunc(all, func(o CameraTopic) bool { return o.Name == t.Name }) {
			all = append(all, t)
		}
	}
	for _, stream := range kinds.Streams(spec.Kind) {
		out := outs.of(stream)
		if len(out.backends) > 0 && !slices.Contains(out.backends, negotiate.BackendCPU) {
			continue
		}
		name, err := imageTopic(n.Namespace, spec.Name, stream, out.ros)
		if err != nil {
			continue
		}
		add(CameraTopic{name, stream, false})
		add(CameraTopic{cpu.JPEGTopic(name), stream, false})
		add(CameraTopic{cpu.InfoTopic(name), stream, true})
	}
	return all
}
