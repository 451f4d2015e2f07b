// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import "path/filepath"

// devices reports two cameras on one device: the second would find it busy.
func (l *loader) devices() {
	used := make(map[string]string)
	for _, s := range l.cfg.Cameras {
		if s.Kind != "v4l2" {
			continue
		}
		device := s.Target
		if device != "" {
			device = filepath.Clean(device) // /dev//video0
		}
		if path, err := filepath.EvalSymlinks(device); err == nil {
			device = path // /dev/v4l/by-id/... are links
		}
		first, ok := used[device]
		if !ok {
			used[device] = s.Name
			continue
		}
		c := l.camera(s.Name, Origin{})
		at := c.keys[keyKind].from
		if a, ok := c.keys[keyTarget]; ok {
			at = a.from
		}
		if s.Target == "" {
			l.add(at, "camera %s has no target, and neither has %s: both would take the first device", s.Name, first)
			continue
		}
		l.add(at, "camera %s is on the device of %s, %s: one camera has one device", s.Name, first, device)
	}
}
