// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// kit is where peers are set up.
type kit struct {
	root  string   // of the module
	cache string   // .cache/peers in it
	self  []string // this program as a publisher or subscriber
	log   io.Writer
	made  map[string]made // what was set up in this call
}

type made struct {
	argv    []string
	env     []string
	version string
	err     error
}

// setupTime bounds one step of setting a peer up: building Zenoh takes minutes.
const setupTime = 40 * time.Minute

var errNotThere = errors.New("not there")

// newKit is one below the module that the working directory is in.
func newKit(log io.Writer) (*kit, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		up := filepath.Dir(root)
		if up == root {
			return nil, errors.New("no go.mod in any folder above: run this in a clone of the project")
		}
		root = up
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &kit{
		root: root, cache: filepath.Join(root, ".cache", "peers"), self: []string{self, programWord}, log: log, made: map[string]made{},
	}, nil
}

func (k *kit) goVersion() string { return runtime.Version() }

// source is a file of this folder.
func (k *kit) source(parts ...string) string {
	return filepath.Join(append([]string{k.root, "benchmarks", "peers"}, parts...)...)
}

// once sets something up that several peers need.
func (k *kit) once(name string, f func() made) (made, error) {
	m, ok := k.made[name]
	if !ok {
		m = f()
		k.made[name] = m
	}
	return m, m.err
}

// run runs a step of setting up. What it said is in the error.
func (k *kit) run(ctx context.Context, env []string, dir string, argv ...string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("%s is %w", argv[0], errNotThere)
	}
	ctx, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()
	var said tail
	c := exec.CommandContext(ctx, path, argv[1:]...)
	c.Env, c.Dir, c.Stdout, c.Stderr = append(os.Environ(), env...), dir, &said, &said
	c.WaitDelay = time.Second
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv[:min(len(argv), 4)], " "), errors.Join(ctx.Err(), err), said.String())
	}
	return nil
}

func (k *kit) say(format string, args ...any) { fmt.Fprintf(k.log, format+"\n", args...) }

// folder makes a folder below the cache that is for exactly what pins say. whole
// is a file that is written once it is complete.
func (k *kit) folder(name, pins string) (dir string, whole string, err error) {
	sum := sha256.Sum256([]byte(pins))
	dir = filepath.Join(k.cache, name+"-"+hex.EncodeToString(sum[:4]))
	return dir, filepath.Join(dir, "whole"), os.MkdirAll(dir, 0o755)
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// pythonPins is what the Python programs need.
var pythonPins = []string{"eclipse-zenoh==1.10.2", "dora-rs==1.1.0", "dora-rs-cli==1.1.0", "numpy==2.4.6", "pyarrow==26.0.1"}

// python makes an environment with all of pythonPins.
func (k *kit) python(ctx context.Context) (made, error) {
	return k.once("python", func() made {
		dir, whole, err := k.folder("python", strings.Join(pythonPins, "\n"))
		if err != nil {
			return made{err: err}
		}
		bin := filepath.Join(dir, "bin")
		m := made{argv: []string{filepath.Join(bin, "python3"), k.source("python", "peer.py")}, env: []string{"PYTHONDONTWRITEBYTECODE=1"}}
		if !exists(whole) {
			k.say("setting up Python packages in %s", dir)
			for _, argv := range [][]string{
				{"python3", "-m", "venv", "--clear", dir},
				append([]string{m.argv[0], "-m", "pip", "install", "-q", "--disable-pip-version-check"}, pythonPins...),
			} {
				if err := k.run(ctx, nil, "", argv...); err != nil {
					return made{err: err}
				}
			}
			if err := os.WriteFile(whole, nil, 0o644); err != nil {
				return made{err: err}
			}
		}
		out, err := exec.CommandContext(ctx, m.argv[0], "-V").Output()
		if err != nil {
			return made{err: err}
		}
		m.version = string(bytes.TrimSpace(out))
		return m
	})
}

// rust builds a program of the folder rust with cargo, which takes the versions
// of Cargo.lock.
func (k *kit) rust(ctx context.Context, name, program string) (made, error) {
	return k.once(name, func() made {
		out, err := exec.CommandContext(ctx, "cargo", "--version").Output()
		if err != nil {
			return made{err: fmt.Errorf("cargo is %w: it comes with Rust 1.89 or later, from rustup or a distribution: %w", errNotThere, err)}
		}
		target := filepath.Join(k.cache, "cargo-"+name)
		k.say("building %s (the first time takes minutes)", name)
		if err := k.run(ctx, []string{"CARGO_TARGET_DIR=" + target}, k.source("rust", name), "cargo", "build", "-q", "--release", "--locked"); err != nil {
			return made{err: err}
		}
		return made{argv: []string{filepath.Join(target, "release", program)}, version: string(bytes.TrimSpace(out))}
	})
}
