// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"strings"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// Path says which way the frames come and why not a better one.
type Path struct {
	Backend  negotiate.Backend    `json:"backend"`
	Wake     negotiate.WakeKind   `json:"wake,omitempty"`
	Rejected []negotiate.Rejected `json:"rejected,omitempty"`
	Dir      string               `json:"runtime_dir,omitempty"` // of the daemon that was asked
	Session  string               `json:"session,omitempty"`
	Credit   int                  `json:"credit"`

	// With the path cuda, where the frames are:
	GPU     string `json:"gpu,omitempty"` // its UUID
	GPUName string `json:"gpu_name,omitempty"`

	// Host has the camera, "" if it is this one or not known.
	Host string `json:"host,omitempty"`

	// With the path cpu:
	Topic  string `json:"topic,omitempty"`
	Domain int    `json:"domain,omitempty"` // of ROS
	Router string `json:"router,omitempty"` // endpoint of the Zenoh router, or a peer
}

// Over says by what the frames of a stream come, for people: "futex", "futex, on
// NVIDIA H200 GPU-…", "Zenoh", or "Zenoh, topic
// /front/color/image_raw, from robot".
func (p Path) Over(stream string) string {
	if p.Topic == "" && p.GPU != "" {
		return string(p.Wake) + ", on " + strings.TrimSpace(p.GPUName+" "+p.GPU)
	}
	if p.Topic == "" {
		return string(p.Wake)
	}
	text := "Zenoh"
	if p.Topic != stream {
		text += ", topic " + p.Topic
	}
	if p.Domain != 0 {
		text = fmt.Sprintf("%s, domain %d", text, p.Domain)
	}
	if p.Host != "" {
		text += ", from " + p.Host
	}
	return text
}

// Stats counts what a subscription did.
type Stats struct {
	Taken      uint64 // frames handed to the program
	Missed     uint64 // frames published between them: gaps in the sequence within one session
	Reconnects uint64
	// PathChanges is how often frames came by another backend than before.
	PathChanges uint64
	Leaked      uint64 // retained frames that were garbage collected unreleased

	// Ignored counts messages on the topic's key that are no frames of it, or
	// not of the publisher that is followed; nil if there were none.
	Ignored map[IgnoreReason]uint64
	// ClockSteps is how often the system clock was set while frames came by the
	// path cpu.
	ClockSteps uint64
}
