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

const topic = "/front/color/image_raw"

// behind is a robot and a laptop that reach nothing but a router between them.
// wlan0 is the name by which its configuration thins out what leaves by radio.
func (l *lab) behind(settings ...string) (robot, middle, laptop *host) {
	l.t.Helper()
	robot, middle, laptop = l.host("robot"), l.host("router"), l.host("laptop")
	l.link("eth0", "10.77.1", robot, middle)
	l.link("wlan0", "10.77.2", laptop, middle)
	middle.router("robot-router.json5", settings...)
	return robot, middle, laptop
}

// The router has the configuration that comes with camd for it: who is behind it
// gets whole frames, however bad the radio is, and goes on when it is back.
func TestThroughRouter(t *testing.T) {
	t.Parallel()
	robot, middle, laptop := newLab(t).behind()
	const lease = "transport/link/tx/lease=2000"
	d := robot.camd([]string{"front=pattern,320x240@30,encoding=rgb8"}, "--set", "zenoh.connect=tcp/10.77.1.2:7447", "--set", "zenoh.override="+lease)
	local := robot.watch("front/color")
	local.await(10)
	far := laptop.watchWith([]string{"ZENOH_CONFIG_OVERRIDE=" + lease}, "--connect", "tcp/10.77.2.2:7447", topic)
	far.await(5)

	robot.looks("front/color", "shm", "--connect", "tcp/10.77.1.2:7447")
	middle.looks(topic, "cpu")
	laptop.looks(topic, "cpu", "--connect", "tcp/10.77.2.2:7447")

	// The radio gets worse than what the router lets through. How many frames
	// come then is up to the router, which drops; they are whole.
	middle.slow("wlan0", "2mbit")
	slow := len(far.frames())
	local.await(len(local.frames()) + 60)
	after := len(far.frames())
	laptop.cut("wlan0")
	far.says("disconnected")
	middle.fast("wlan0")
	laptop.mend("wlan0")
	far.await(len(far.frames()) + 5)
	d.keepsUp()
	near, there := local.hold(), far.hold()
	t.Logf("robot: %d frames, %d missed, age %s", len(near), missed(near), ages(near))
	t.Logf("laptop: %d frames, %d missed, age %s; at 2 Mbit/s %s", len(there), missed(there), ages(there[:slow]), ages(there[slow:after]))
	if missed(there) == 0 {
		t.Error("the router dropped nothing")
	}
}

// With these settings the router waits for a slow radio, for a second at most a
// frame, rather than drop a part of each frame.
func TestRouterThatWaits(t *testing.T) {
	t.Parallel()
	robot, middle, laptop := newLab(t).behind(
		"transport/link/tcp/so_sndbuf=65536",
		"transport/link/tx/queue/congestion_control/drop/wait_before_drop=50000",
		"transport/link/tx/queue/congestion_control/drop/max_wait_before_drop_fragments=1000000",
	)
	d := robot.camd([]string{"front=pattern,320x240@30,encoding=rgb8"}, "--set", "zenoh.connect=tcp/10.77.1.2:7447")
	local := robot.watch("front/color")
	far := laptop.watch("--connect", "tcp/10.77.2.2:7447", topic)
	far.await(1)
	middle.slow("wlan0", "2mbit")
	n := len(far.frames())
	if soak {
		far.await(n + 30)
	} else {
		far.await(n + 4)
	}
	d.keepsUp()
	near, there := local.hold(), far.hold()
	t.Logf("robot: %d frames, %d missed, age %s", len(near), missed(near), ages(near))
	t.Logf("laptop: %d frames at 2 Mbit/s, age %s", len(there)-n, ages(there[n:]))
}
