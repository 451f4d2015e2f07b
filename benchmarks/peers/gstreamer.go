// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// debs is what the program for GStreamer needs besides a C compiler. They are
// unpacked in the cache and not installed, so that nobody needs to be root and
// nothing of the system changes. What these need themselves is on any Debian
// that has a desktop or ffmpeg; if not, the program does not start and says what
// is missing.
var debs = []string{
	"libgstreamer1.0-0", "libgstreamer1.0-dev", "gstreamer1.0-plugins-base", "libgstreamer-plugins-base1.0-0",
	"libgstreamer-plugins-base1.0-dev", "gstreamer1.0-plugins-bad", "libglib2.0-dev", "libcap2",
}

// gstreamerRoot unpacks debs and returns the folder and the version.
func (k *kit) gstreamerRoot(ctx context.Context) (root, version string, err error) {
	out, err := exec.CommandContext(ctx, "apt-cache", "policy", "libgstreamer1.0-0", "gstreamer1.0-plugins-bad").Output()
	if err != nil {
		return "", "", fmt.Errorf("apt-cache is %w: GStreamer is taken from Debian's packages: %w", errNotThere, err)
	}
	var candidates []string
	for _, line := range strings.Split(string(out), "\n") {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "Candidate: "); ok {
			candidates = append(candidates, v)
		}
	}
	if len(candidates) != 2 || candidates[0] == "(none)" || candidates[1] == "(none)" {
		return "", "", fmt.Errorf("GStreamer is %w: apt knows no packages of it; as root: apt-get update", errNotThere)
	}
	version = "GStreamer " + candidates[0] + ", plugins-bad " + candidates[1]
	dir, whole, err := k.folder("gstreamer", version+strings.Join(debs, " "))
	if err != nil {
		return "", "", err
	}
	root = filepath.Join(dir, "root")
	if exists(whole) {
		return root, version, nil
	}
	k.say("unpacking GStreamer in %s", dir)
	if err := k.run(ctx, nil, dir, append([]string{"apt-get", "download", "-q"}, debs...)...); err != nil {
		return "", "", err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return "", "", err
	}
	for _, f := range files {
		if err := k.run(ctx, nil, dir, "dpkg", "-x", f, root); err != nil {
			return "", "", err
		}
		if err := os.Remove(f); err != nil {
			return "", "", err
		}
	}
	return root, version, os.WriteFile(whole, nil, 0o644)
}

// gstreamerProgram compiles gstreamer/peer.c. A variant whose plugin the
// distribution's GStreamer does not have is left out.
func gstreamerProgram(variant string) func(context.Context, *kit) (*launch, error) {
	return func(ctx context.Context, k *kit) (*launch, error) {
		root, version, err := k.gstreamerRoot(ctx)
		if err != nil {
			return nil, err
		}
		out, err := exec.CommandContext(ctx, "gcc", "-print-multiarch").Output()
		if err != nil {
			return nil, fmt.Errorf("gcc is %w: %w", errNotThere, err)
		}
		dir, include := filepath.Dir(root), filepath.Join(root, "usr", "include")
		lib := filepath.Join(root, "usr", "lib", strings.TrimSpace(string(out)))
		if err := linkPlugins(filepath.Join(dir, "plugins"), filepath.Join(lib, "gstreamer-1.0"), "libgstapp.so", "libgst"+variant+".so"); err != nil {
			return nil, fmt.Errorf("%s: %w", version, err)
		}
		m, err := k.once("gstreamer", func() made {
			program := filepath.Join(dir, "gstreamer-peer")
			return made{argv: []string{program}, err: k.run(ctx, nil, "", "gcc", "-O2", "-Wall", "-o", program, k.source("gstreamer", "peer.c"),
				"-I"+filepath.Join(include, "gstreamer-1.0"), "-I"+filepath.Join(include, "glib-2.0"), "-I"+filepath.Join(lib, "glib-2.0", "include"),
				"-L"+lib, "-lgstapp-1.0", "-lgstreamer-1.0", "-l:libgobject-2.0.so.0", "-l:libglib-2.0.so.0")}
		})
		if err != nil {
			return nil, err
		}
		return &launch{
			version: version, argv: m.argv, variant: variant, address: unixAddress,
			env: []string{
				"LD_LIBRARY_PATH=" + lib, "GST_PLUGIN_SYSTEM_PATH_1_0=", "GST_PLUGIN_PATH_1_0=" + filepath.Join(dir, "plugins"),
				"GST_REGISTRY=" + filepath.Join(dir, "registry"), "GST_REGISTRY_FORK=no",
			},
		}, nil
	}
}

var errPlugin = errors.New("this GStreamer has no such plugin (unixfd came with 1.24)")

// linkPlugins shows GStreamer the plugins that are used and no others: to look at
// all takes each process longer, and most would miss libraries.
func linkPlugins(to, from string, names ...string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, name := range names {
		if !exists(filepath.Join(from, name)) {
			return fmt.Errorf("%w: %s", errPlugin, name)
		}
		if err := os.Symlink(filepath.Join(from, name), filepath.Join(to, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
