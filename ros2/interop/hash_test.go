// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/ros2/msg/typehash"
)

// readAll reads the definitions of a folder, by the full names of the types.
func readAll(t *testing.T, into map[string]string, root string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "*", "*.msg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		into[filepath.Base(filepath.Dir(f))+"/msg/"+strings.TrimSuffix(filepath.Base(f), ".msg")] = string(b)
	}
}

// TestHashesWithIndependentPackages compares the hash of every definition that
// there is with what rosbags computes from its own definitions of each
// distribution, and zenoh-ros2-sdk from ours.
func TestHashesWithIndependentPackages(t *testing.T) {
	t.Parallel()
	definitions := map[string]string{}
	readAll(t, definitions, "../msg/definitions")
	readAll(t, definitions, "../msg/testdata/definitions")
	if len(definitions) < 35 {
		t.Fatalf("only %d definitions", len(definitions))
	}
	lookup := func(name string) (string, bool) {
		s, ok := definitions[name]
		return s, ok
	}
	var requests []request
	var wants []string
	for name := range definitions {
		want, err := typehash.Of(name, lookup)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, d := range distributions {
			requests = append(requests, request{Do: "hash", By: "rosbags:" + d, Type: name})
			wants = append(wants, want)
		}
		refs, err := typehash.References(name, lookup)
		if err != nil {
			t.Fatal(err)
		}
		own := map[string]string{name: definitions[name]}
		for _, ref := range refs {
			own[ref] = definitions[ref]
		}
		requests = append(requests, request{Do: "hash", By: "sdk", Type: name, Definitions: own})
		wants = append(wants, want)
	}
	for i, r := range ask(t, requests) {
		if q := requests[i]; r.Hash != wants[i] {
			t.Errorf("%s by %s: %s%s, ours is %s", q.Type, q.By, r.Hash, r.Error, wants[i])
		}
	}
	t.Logf("%d hashes of %d types", len(requests), len(definitions))
}
