// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"github.com/seed-3c7e7623/camd/backend/cpu"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/internal/daemon"
)

// network is what the settings say about how cameras appear to ROS 2; nil if
// they do not.
func (c *Config) network() *daemon.Network {
	if c.Zenoh.Enabled == EnabledNo || !c.ROS2.Enabled {
		return nil
	}
	return &daemon.Network{Namespace: string(c.ROS2.Namespace), AnyHash: bool(c.ROS2.AnyHash), Access: c.Zenoh.Access.Daemon()}
}

// clashes refuses cameras that would publish on a topic of one before them:
// which of the two were heard would be chance. That only camera_info is the same
// is a warning, since both are to be seen.
func (l *loader) clashes() {
	n := l.cfg.network()
	if n == nil {
		return
	}
	type owner struct {
		camera string
		topic  daemon.CameraTopic
	}
	owners := make(map[string]owner)
	for _, spec := range l.cfg.Cameras {
		topics := n.Topics(spec)
		for _, t := range topics {
			first, taken := owners[t.Name]
			switch {
			case !taken:
				continue
			case t.Info && first.topic.Info:
				l.warn(l.topicOrigin(spec, t), "camera %s: its camera_info %s is that of camera %s, and only one of the two is published; give it a topic in a namespace of its own", spec.Name, t.Name, first.camera)
				continue
			}
			l.add(l.topicOrigin(spec, t), "camera %s: stream %s would be published on %s, as is %s/%s; rename it, or give it another topic%s",
				spec.Name, t.Stream, t.Name, first.camera, first.topic.Stream, sameName(spec.Name, first.camera))
			break
		}
		for _, t := range topics {
			if _, taken := owners[t.Name]; !taken {
				owners[t.Name] = owner{spec.Name, t}
			}
		}
	}
}

// sameName explains why cameras of two names have one topic.
func sameName(a, b string) string {
	if a != b && cpu.NodeName(a) == cpu.NodeName(b) {
		return " (both names become " + cpu.NodeName(a) + " in ROS)"
	}
	return ""
}

// topicOrigin is what gave a camera the topic: its option, else its name.
func (l *loader) topicOrigin(spec capture.Spec, t daemon.CameraTopic) Origin {
	for _, c := range l.cams {
		if c.name != spec.Name {
			continue
		}
		keys := []string{streamPath(t.Stream, "topic"), "topic"}
		for _, key := range keys {
			if a, ok := c.keys[key]; ok {
				return a.from
			}
		}
		return c.at
	}
	return Origin{}
}
