// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/kinds"
	"github.com/seed-3c7e7623/camd/internal/daemon"
)

const example = "../../deploy/camd.yaml"

func readExample(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// inUse takes the # from every setting that is not in use.
func inUse(text string) string {
	return regexp.MustCompile(`(?m)^( *)#(\S)`).ReplaceAllString(text, "$1$2")
}

func TestExampleRunsAnywhere(t *testing.T) {
	c := load(t, Input{Name: example, Data: []byte(readExample(t))})
	if got, want := cameras(c), "test=pattern,1280x720@30"; got != want {
		t.Errorf("cameras %s, want %s", got, want)
	}
}

// Every key that camd knows stands in the example, and every key in it is one.
func TestExampleIsComplete(t *testing.T) {
	text := inUse(readExample(t))
	// The keys of the main stream are the camera's, which stand there too.
	head, tail, ok := strings.Cut(text, "    streams:\n")
	if !ok {
		t.Fatal("no streams in the example")
	}
	stream, rest, _ := strings.Cut(tail, "\n\n")
	for _, key := range streamKeys() {
		if !strings.Contains(stream, "\n        "+key+": ") {
			t.Errorf("streams: %s is not in the example", key)
		}
	}
	for _, key := range sourceKeys() {
		stream = regexp.MustCompile(`(?m)^        `+key+`: .*\n?`).ReplaceAllString(stream, "")
	}
	load(t, Input{Name: example, Data: []byte(head + "    streams:\n" + stream + "\n" + rest)})

	c := load(t, Input{Name: example, Data: []byte(head + rest)})
	set := make(map[string]bool)
	for _, s := range c.Settings {
		if s.Set.Layer == File {
			set[s.Key] = true
		}
	}
	for _, key := range daemonKeys() {
		if !set[key] {
			t.Errorf("%s is not in the example", key)
		}
	}
	for _, kind := range kinds.Names() {
		known, _ := daemon.CheckCamera(capture.Spec{Name: "a", Kind: kind})
		for _, option := range append(specKeys(), known...) {
			if option.Key == keyTarget && kind == "pattern" || option.Key == streamsGroup+"." {
				continue
			}
			// What every camera has is shown at the first.
			common := slices.ContainsFunc(limitKeys(), func(k string) bool { return k == option.Key })
			if !slices.ContainsFunc(c.Cameras, func(s capture.Spec) bool {
				if s.Kind != kind && !common {
					return false
				}
				for key := range set {
					if key == cameraPath(s.Name, option.Key) || strings.HasSuffix(option.Key, ".") && strings.HasPrefix(key, cameraPath(s.Name, option.Key)) {
						return true
					}
				}
				return false
			}) {
				t.Errorf("%s of kind %s is not in the example", option.Key, kind)
			}
		}
	}
}

func limitKeys() []string {
	known, _ := daemon.CheckCamera(capture.Spec{Kind: "none"})
	return optionKeys(known)
}
