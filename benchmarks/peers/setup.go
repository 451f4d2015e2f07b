// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func zenohProgram(variant string, router bool) func(context.Context, *kit) (*launch, error) {
	return func(ctx context.Context, k *kit) (*launch, error) {
		m, err := k.rust(ctx, "zenoh", "zenoh-peer")
		if err != nil {
			return nil, err
		}
		l := &launch{version: "zenoh 1.10.2, " + m.version, argv: m.argv, variant: variant, address: zenohAddress}
		if router {
			l.variant, l.router, l.address = "router", []string{m.argv[0], "router"}, routerAddress
		}
		return l, nil
	}
}

func iceoryxProgram(variant string) func(context.Context, *kit) (*launch, error) {
	return func(ctx context.Context, k *kit) (*launch, error) {
		m, err := k.rust(ctx, "iceoryx2", "iceoryx2-peer")
		if err != nil {
			return nil, err
		}
		return &launch{
			version: "iceoryx2 0.10.0, " + m.version, argv: m.argv, variant: variant,
			// Service names are of the whole host.
			address: func(dir, _ string) (string, error) { return "camd/" + filepath.Base(dir), nil },
		}, nil
	}
}

func pythonProgram(variant string, address func(string, string) (string, error)) func(context.Context, *kit) (*launch, error) {
	return func(ctx context.Context, k *kit) (*launch, error) {
		m, err := k.python(ctx)
		if err != nil {
			return nil, err
		}
		version := m.version
		if strings.HasPrefix(variant, "zenoh") {
			version = "eclipse-zenoh 1.10.2, " + version
		}
		return &launch{version: version, argv: m.argv, env: m.env, variant: variant, address: address}, nil
	}
}

// doraProgram has dora start both programs as nodes of a dataflow.
func doraProgram(ctx context.Context, k *kit) (*launch, error) {
	m, err := k.python(ctx)
	if err != nil {
		return nil, err
	}
	dora := filepath.Join(filepath.Dir(m.argv[0]), "dora")
	l := &launch{
		version: "dora-rs 1.1.0, " + m.version, argv: m.argv, env: m.env, variant: "dora",
		address: func(string, string) (string, error) { return "-", nil },
	}
	// The pool has memory of four payloads, and what Arrow
	// writes around them.
	l.together = func(ctx context.Context, dir string, pub, sub order, limit time.Duration) error {
		flow := filepath.Join(dir, "flow.yml")
		text := fmt.Sprintf("nodes:\n  - id: publisher\n    path: %[1]q\n    args: %[2]q\n    outputs: [data]\n    shared_memory_pool_size: %[4]d\n"+
			"  - id: subscriber\n    path: %[1]q\n    args: %[3]q\n    inputs:\n      data: {source: publisher/data, queue_size: 1}\n",
			m.argv[0], strings.Join(append(m.argv[1:], pub.args()...), " "), strings.Join(append(m.argv[1:], sub.args()...), " "), 4*(pub.Size+1<<20))
		if err := os.WriteFile(flow, []byte(text), 0o644); err != nil {
			return err
		}
		p, err := start("dora run", []string{dora, "run", flow}, m.env, dir)
		if err != nil {
			return err
		}
		defer p.end()
		p.drain()
		return p.wait(ctx, limit)
	}
	return l, nil
}
