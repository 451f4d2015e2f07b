// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:embed libcuda/*.c libcuda/*.h
var sources embed.FS

// ErrNoCompiler reports a machine without a C compiler.
var ErrNoCompiler = errors.New("no C compiler (cc)")

// Variant is a way in which the library can be built.
type Variant string

const (
	// Current has every symbol.
	Current Variant = ""
	// Old lacks virtual memory management, as drivers before CUDA 10.2 do; it
	// goes with the profile old-driver.
	Old Variant = "old"
)

// flags are the compiler's. Warnings are errors: what is wrong here costs
// whoever relies on it.
var flags = []string{
	"-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread",
	"-Wall", "-Wextra", "-Werror", "-Wl,-soname,libcuda.so.1",
}

// Compile builds the library once for each state of its sources, into the
// user's cache directory or else the temporary one, and returns the path of a
// file named libcuda.so.1. It fails with ErrNoCompiler, or with the compiler's
// words.
func Compile(v Variant) (string, error) {
	names, err := fs.Glob(sources, "libcuda/*")
	if err != nil {
		return "", err
	}
	args := append([]string{}, flags...)
	if v == Old {
		args = append(args, "-DCUDASIM_OLD")
	}
	sum := sha256.New()
	fmt.Fprintln(sum, args)
	for _, name := range names {
		text, err := sources.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(sum, name, len(text))
		sum.Write(text)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "camd-cudasim", hex.EncodeToString(sum.Sum(nil)[:12]))
	library := filepath.Join(dir, "libcuda.so.1")
	if _, err := os.Stat(library); err == nil {
		return library, nil
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", ErrNoCompiler
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// Whoever comes first puts a whole file in place; others do the same.
	work, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	var units []string
	for _, name := range names {
		text, err := sources.ReadFile(name)
		if err != nil {
			return "", err
		}
		base := filepath.Base(name)
		if err := os.WriteFile(filepath.Join(work, base), text, 0o644); err != nil {
			return "", err
		}
		if filepath.Ext(base) == ".c" {
			units = append(units, base)
		}
	}
	made := filepath.Join(work, "libcuda.so.1")
	cmd := exec.Command(cc, append(append(args, "-o", made), units...)...)
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the simulated driver: %w\n%s", err, bytes.TrimSpace(out))
	}
	if err := os.Rename(made, library); err != nil {
		return "", err
	}
	return library, nil
}

// Build is Compile for a test, which is skipped where there is no compiler,
// but fails in CI.
func Build(t testing.TB) string { return build(t, Current) }

// BuildOld is Build of the driver from before virtual memory management.
func BuildOld(t testing.TB) string { return build(t, Old) }

func build(t testing.TB, v Variant) string {
	t.Helper()
	library, err := Compile(v)
	if errors.Is(err, ErrNoCompiler) && os.Getenv("CI") != "true" {
		t.Skip("the simulated CUDA driver cannot be built: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return library
}
