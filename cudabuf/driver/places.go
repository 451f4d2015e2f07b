// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"os"
	"runtime"
	"strings"
)

const soname = "libcuda.so.1"

// moduleFile is where NVIDIA's kernel module tells its version.
const moduleFile = "/proc/driver/nvidia/version"

// wslFolder is where Windows puts its driver's library for Linux.
var wslFolder = "/usr/lib/wsl/lib"

// folders are where drivers lie outside of the loader's path: distributions',
// Jetson's, container runtimes'.
var folders = func() []string {
	multiarch := map[string]string{"amd64": "/usr/lib/x86_64-linux-gnu", "arm64": "/usr/lib/aarch64-linux-gnu"}[runtime.GOARCH]
	var f []string
	if multiarch != "" {
		f = append(f, multiarch, multiarch+"/nvidia", multiarch+"/tegra", multiarch+"/nvidia/current")
	}
	return append(f, "/usr/lib64", "/usr/lib64/nvidia", "/usr/lib/nvidia", "/usr/local/nvidia/lib64", "/run/opengl-driver/lib")
}()

// moduleVersion reads the version from a file like
// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 …".
func moduleVersion(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for _, word := range strings.Fields(line) {
		if isVersion(word) {
			return word
		}
	}
	return ""
}

// isVersion reports whether a word is two or three numbers with dots.
func isVersion(word string) bool {
	parts := strings.Split(word, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return false
	}
	for _, part := range parts {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return true
}
