// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package net

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// path is by which backend a stream comes to camsub on the host, and why not by
// shared memory.
func (h *host) path(stream string) (backend, why string) {
	h.t.Helper()
	var hz struct {
		Backend  string
		Rejected []struct{ Backend, Reason string }
	}
	out := h.camsub("hz", stream, "--count", "5", "--verify", "--format", "json")
	if err := json.Unmarshal([]byte(out), &hz); err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	for _, r := range hz.Rejected {
		if r.Backend == "shm" {
			why = r.Reason
		}
	}
	return hz.Backend, why
}

// refusal wants that shared memory cannot be had, for this reason.
func (h *host) refusal(stream, reason string) {
	h.t.Helper()
	p := h.start(camsub, "hz", stream, "--require", "shm", "--count", "1")
	p.ends(5)
	if said := p.err.String(); !strings.Contains(said, reason) {
		h.t.Errorf("%s: camsub hz --require shm does not say %s: %s", h.name, reason, said)
	}
}

// Containers of the robot have mounts, process ids and a network of their own.
// With the runtime directory they read shared memory; without it, or without the
// right to use it, what comes over the network, and they are told why.
func TestContainers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	robot := l.host("robot")
	shared, apart, stranger := robot.container("shared"), robot.container("apart"), robot.container("stranger")
	other := l.host("laptop")
	l.link("eth0", "10.77.0", robot, shared, apart, stranger, other)
	shared.run, stranger.run = robot.run, robot.run
	stranger.user = "12345"
	robot.camd([]string{"front=pattern,320x240@30,encoding=rgb8"})
	for _, c := range []struct {
		h                    *host
		backend, why, reason string
	}{
		{robot, "shm", "", ""},
		{shared, "shm", "", ""},
		{apart, "cpu", "socket_unreachable", "socket_unreachable"},
		{stranger, "cpu", "permission_denied", "permission_denied"},
		{other, "cpu", "different_host", "different_host"},
	} {
		if backend, why := c.h.path("front/color"); backend != c.backend || why != c.why {
			t.Errorf("%s: by %s, shared memory: %q; want %s, %q", c.h.name, backend, why, c.backend, c.why)
		}
		if c.reason != "" {
			c.h.refusal("front/color", c.reason)
		}
	}

	// Who reads over the network goes over to shared memory when the socket appears.
	socket := filepath.Join(robot.run, "camd", "camd.sock")
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(socket, socket+".away")
	reader := shared.watch("front/color")
	reader.await(5)
	move(socket+".away", socket)
	eventually(t, "the reader has shared memory", func() (bool, string) {
		frames := reader.frames()
		last := frames[len(frames)-1]
		return last.backend == "shm", last.backend
	})
	reader.await(len(reader.frames()) + 5)
	if first := reader.hold()[0]; first.backend != "cpu" {
		t.Errorf("the first frame came by %s where there was no socket", first.backend)
	}
}
