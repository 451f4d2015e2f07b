// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package net

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/venv"
)

// quantiles are the middle and the greatest of some microseconds.
func quantiles(all []int64) string {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	return fmt.Sprintf("p50 %.1f ms, max %.1f ms", float64(all[len(all)/2])/1e3, float64(all[len(all)-1])/1e3)
}

// router runs a Zenoh router of the reference with a file of deploy/zenoh.
func (h *host) router(file string, settings ...string) *process {
	h.t.Helper()
	line := append([]string{venv.ROS2.Python(h.t), deployed(h.t, "router.py"), deployed(h.t, file)}, settings...)
	p := h.start(line...)
	p.says("is up")
	return p
}

// looks uses the commands that look at a stream or topic from a host, in which
// it goes by name.
func (h *host) looks(name, backend string, place ...string) {
	h.t.Helper()
	with := func(args ...string) []string { return append(args, place...) }
	if out := h.camsub(with("list")...); !strings.Contains(out, name) {
		h.t.Errorf("%s: camsub list without %s:\n%s", h.name, name, out)
	}
	if out := h.camsub(with("info", name)...); !strings.Contains(out, name) {
		h.t.Errorf("%s: camsub info %s:\n%s", h.name, name, out)
	}
	var hz struct {
		Backend string
		Frames  int
		Rate    float64 `json:"rate_hz"`
		Verify  struct{ Frames, Torn, Stale int }
	}
	out := h.camsub(with("hz", name, "--accept", backend, "--count", "5", "--verify", "--format", "json")...)
	if err := json.Unmarshal([]byte(out), &hz); err != nil || hz.Backend != backend || hz.Frames != 5 || hz.Verify.Frames < 5 || hz.Rate <= 0 {
		h.t.Errorf("%s: camsub hz %s: %v\n%s", h.name, name, err, out)
	}
	out = h.camsub(with("bench", name, "--phases", backend, "--samples", "5", "--warmup", "1", "--no-plot", "--format", "csv", "-o", h.run)...)
	if !strings.Contains(out, ","+backend) {
		h.t.Errorf("%s: camsub bench %s:\n%s", h.name, name, out)
	}
}

// The robot reaches nothing but the router, and the laptop neither. The
// router has the configuration that comes with camd for it; wlan0 is the name by
// which that thins out what leaves by radio.
func TestThroughRouter(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	robot, middle, laptop := l.host("robot"), l.host("router"), l.host("laptop")
	l.link("eth0", "10.77.1", robot, middle)
	l.link("wlan0", "10.77.2", laptop, middle)
	middle.router("robot-router.json5")
	d := robot.camd([]string{"front=pattern,320x240@30,encoding=rgb8"}, "--set", "zenoh.connect=tcp/10.77.1.2:7447")
	const topic = "/front/color/image_raw"
	local := robot.watch("front/color")
	local.await(10)
	far := laptop.watch("--connect", "tcp/10.77.2.2:7447", topic)
	far.await(5)

	robot.looks("front/color", "shm", "--connect", "tcp/10.77.1.2:7447")
	middle.looks(topic, "cpu")
	laptop.looks(topic, "cpu", "--connect", "tcp/10.77.2.2:7447")

	// The radio gets worse than what the router lets through.
	middle.slow("wlan0", "2mbit")
	n := len(far.frames())
	far.await(n + 5)
	for _, s := range d.status().Streams {
		for _, c := range s.Subscribers {
			if c.Backend == "shm" && c.Skipped != 0 {
				t.Errorf("a subscriber beside the camera skipped %d frames", c.Skipped)
			}
		}
	}
	near, there := local.hold(), far.hold()
	t.Logf("robot: %d frames, %d missed, age %s", len(near), missed(near), ages(near))
	t.Logf("laptop: %d frames, %d missed, age %s; at 2 Mbit/s %s", len(there), missed(there), ages(there[:n]), ages(there[n:]))
}
