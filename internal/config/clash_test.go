// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"
)

// Two cameras on one topic are told before anything runs, at the later one.
func TestTopicClash(t *testing.T) {
	for _, c := range []struct{ name, yaml, problem, warning string }{
		{
			"one topic", "cameras:\n  a:\n    kind: pattern\n    topic: /x/image\n  b:\n    kind: pattern\n    topic: /x/image\n",
			"f.yaml:7:12: camera b: stream color would be published on /x/image, as is a/color", "",
		},
		{"one name in ROS", "cameras:\n  a-b: pattern\n  a_b: pattern\n", "f.yaml:3:3: camera a_b: stream color would be published on /a_b/color/image_raw, as is a-b/color; rename it, or give it another topic (both names become a_b in ROS)", ""},
		{"pictures where JPEG is", "cameras:\n  a:\n    kind: pattern\n    topic: /x/image\n  b:\n    kind: pattern\n    topic: /x/image/compressed\n", "f.yaml:7:12: camera b", ""},
		{
			"camera_info", "cameras:\n  a:\n    kind: pattern\n    topic: /x/left\n  b:\n    kind: pattern\n    topic: /x/right\n",
			"", "f.yaml:7:12: camera b: its camera_info /x/camera_info is that of camera a",
		},
		{"not published", "cameras:\n  a-b: pattern\n  a_b:\n    kind: pattern\n    backends: [shm]\n", "", ""},
		{"not published by access", "zenoh:\n  access:\n    publish: [a-b/*]\ncameras:\n  a-b: pattern\n  a_b: pattern\n", "", ""},
		{"no ROS", "ros2:\n  enabled: false\ncameras:\n  a-b: pattern\n  a_b: pattern\n", "", ""},
		{"two topics", "cameras:\n  a: pattern\n  b: pattern\n", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, err := Load(Input{Name: "f.yaml", Data: []byte(c.yaml)})
			if c.problem != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.problem) {
					t.Errorf("got %v, want %s", err, c.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var warned []string
			for _, w := range cfg.Warnings {
				warned = append(warned, w.Error())
			}
			if got := strings.Join(warned, "\n"); (c.warning == "") != (got == "") || !strings.HasPrefix(got, c.warning) {
				t.Errorf("warned %q, want %q", got, c.warning)
			}
		})
	}
}
