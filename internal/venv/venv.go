// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package venv makes Python environments for tests that talk to independent
// implementations. Only tests may import it.
package venv

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Env is an environment: what is installed, and what shows that it is whole.
type Env struct {
	Name    string   // of the folder under .cache, before a sum of the packages
	Pins    []string // packages with versions, for pip
	Imports string   // a statement that fails when something is missing
}

// ROS2 has what the tests of ROS 2 talk to.
var ROS2 = Env{
	Name: "ros2",
	Pins: []string{
		"rosbags==0.11.9",          // CDR both ways, hashes of every distribution
		"mcap-ros2-support==0.6.0", // CDR both ways, from the text of definitions
		"zenoh-ros-type==0.3.0",    // CDR
		"pycdr2==1.0.0",            // what zenoh-ros-type encodes with
		"zenoh-ros2-sdk==0.1.8",    // keys, tokens, hashes; publishes and subscribes
		"pamoja-ros2==0.2.0",       // names, keys
		"xxhash==4.1.0",            // GIDs
		"eclipse-zenoh==1.10.2",    // router, liveliness, the serializer that attachments come from
		"numpy==2.4.6; python_version >= '3.11'",
	},
	Imports: "import rosbags.typesys, mcap_ros2.decoder, zenoh_ros_type, pycdr2, zenoh_ros2_sdk, pamoja.ros2, xxhash, zenoh",
}

// Python returns an interpreter that has all of the packages, under .cache of
// the project, in a folder for these very pins. Where that cannot be made the
// test is skipped, but fails in CI.
func (e Env) Python(t testing.TB) string {
	t.Helper()
	root, err := root()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(strings.Join(e.Pins, "\n")))
	dir := filepath.Join(root, ".cache", e.Name+"-"+hex.EncodeToString(sum[:4]))
	bin := filepath.Join(dir, "bin", "python3")
	// A folder that is whole says so itself: the imports take a second.
	whole := filepath.Join(dir, "whole")
	works := func() bool { _, err := os.Stat(whole); return err == nil }
	if works() {
		return bin
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if works() {
		return bin
	}
	for _, c := range [][]string{
		{"python3", "-m", "venv", "--clear", dir},
		append([]string{bin, "-m", "pip", "install", "-q", "--disable-pip-version-check"}, e.Pins...),
		{bin, "-c", e.Imports},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%v: %v\n%s", c, err, out)
			}
			t.Skipf("the Python packages cannot be installed: %v: %v\n%s", c, err, out)
		}
	}
	if err := os.WriteFile(whole, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return bin
}

// root is the folder of the module that the test is in.
func root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod in any folder above")
		}
		dir = up
	}
	return "", err
}
