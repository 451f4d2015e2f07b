// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"path/filepath"
	"time"
)

// peer is something that moves bytes between two processes.
type peer struct {
	Name     string
	Language string // of publisher and subscriber
	How      string // it is used
	// setup puts what the peer needs under .cache and says how to start it.
	setup func(context.Context, *kit) (*launch, error)
}

// launch is how the programs of a peer are started.
type launch struct {
	version string
	argv    []string // before the nine arguments
	env     []string
	variant string
	router  []string // argv of a Zenoh router before its endpoint; nil = needs none
	// address is where publisher and subscriber meet; router is its endpoint.
	address func(dir, router string) (string, error)
	// together, if set, runs publisher and subscriber under something of the
	// peer.
	together func(ctx context.Context, dir string, pub, sub order, limit time.Duration) error
}

// peers are all of them, in the order of tables.
var peers = []peer{
	{"tcp", "Go", "one connection on the loopback device; one write and one buffer that is read into", goProgram("tcp", tcpAddress)},
	{"unix", "Go", "the same over a Unix stream socket", goProgram("unix", unixAddress)},
	{"camd_shm", "Go", "daemon and client as in any program: futex, credit 1, the newest frame wins", goProgram("camd_shm", dirAddress)},
	{"camd_cpu", "Go", "sensor_msgs/Image over Zenoh through a router of zenoh's Rust implementation", camdCPU},
	{"zenoh_tcp", "Rust", "two peers connected directly, express, callback, congestion control block", zenohProgram("tcp", false)},
	{"zenoh_router", "Rust", "two clients of a router, otherwise the same", zenohProgram("tcp", true)},
	{"zenoh_shm", "Rust", "payloads made in a POSIX shared memory provider, otherwise as zenoh_tcp", zenohProgram("shm", false)},
	{"iceoryx2", "Rust", "publish-subscribe with slices loaned in place, buffer of 1; an event wakes the subscriber", iceoryxProgram("event")},
	{"iceoryx2_poll", "Rust", "the same without an event: the subscriber spins, as in iceoryx2's own benchmark", iceoryxProgram("poll")},
	{"gstreamer_shm", "C", "appsrc ! shmsink, shmsrc ! appsink, no clock", gstreamerProgram("shm")},
	{"gstreamer_unixfd", "C", "the same with unixfdsink and unixfdsrc", gstreamerProgram("unixfd")},
	{"python_unix", "Python", "the peer unix in Python: what the language adds", pythonProgram("unix", unixAddress)},
	{"python_zenoh_tcp", "Python", "as zenoh_tcp, by the wheel eclipse-zenoh", pythonProgram("zenoh_tcp", zenohAddress)},
	{"python_zenoh_shm", "Python", "as zenoh_shm, by the wheel eclipse-zenoh", pythonProgram("zenoh_shm", zenohAddress)},
	{"python_dora", "Python", "dora run with two nodes, queue of 1, uint8 arrays of Arrow", doraProgram},
}

func peerByName(name string) peer {
	for _, p := range peers {
		if p.Name == name {
			return p
		}
	}
	return peer{Name: name}
}

func tcpAddress(string, string) (string, error)      { return freePort() }
func unixAddress(dir, _ string) (string, error)      { return filepath.Join(dir, "socket"), nil }
func dirAddress(dir, _ string) (string, error)       { return filepath.Join(dir, "run"), nil }
func zenohAddress(string, string) (string, error)    { return freeEndpoint() }
func routerAddress(_, router string) (string, error) { return router, nil }

func goProgram(variant string, address func(string, string) (string, error)) func(context.Context, *kit) (*launch, error) {
	return func(_ context.Context, k *kit) (*launch, error) {
		return &launch{version: k.goVersion(), argv: k.self, variant: variant, address: address}, nil
	}
}

func camdCPU(ctx context.Context, k *kit) (*launch, error) {
	z, err := zenohProgram("tcp", true)(ctx, k)
	if err != nil {
		return nil, err
	}
	return &launch{
		version: k.goVersion() + ", router: " + z.version, argv: k.self, variant: "camd_cpu", router: z.router,
		address: func(dir, router string) (string, error) { return filepath.Join(dir, "run") + " " + router, nil },
	}, nil
}
