// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"testing"
)

func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		"cameras:\n  a: &c {kind: pattern, size: 64x48, rate: 5}\n  b: {<<: *c, rate: 7}\nlog: {level: debug}\nallow_uids: [1, 2]\n",
		"cameras: {a: \"replay:x,loop=true\", b: {kind: replay, target: y, input: {ss: 5}, streams: {color: {rate: 5}}}}",
		"a: &a [*a, *a]", "x: &x {<<: *x, y: *x}", "? a\n: b", "- - - -", "!!x y", "a: |\n b", "\xef\xbb\xbfa: 1\r\n", "a: {b: [}", "%YAML 1.2\n---\na: b\n...\n",
	} {
		f.Add([]byte(s), "cameras.a.rate=5", "CAMD_CAMERAS_A=pattern")
	}
	f.Fuzz(func(t *testing.T, data []byte, set, env string) {
		c, err := Load(Input{Name: "x.yaml", Data: data, Set: []string{set}, Environ: []string{env}})
		if err != nil {
			var all *Error
			if !errors.As(err, &all) || len(all.Problems) == 0 || len(all.Problems) > maxProblems {
				t.Fatalf("%v", err)
			}
			return
		}
		// What was accepted says the same on the command line.
		var specs []string
		for _, s := range c.Cameras {
			specs = append(specs, s.String())
		}
		again, err := Load(Input{Cameras: specs})
		if err != nil {
			t.Fatalf("%q: %v", specs, err)
		}
		for i, s := range again.Cameras {
			if s.String() != c.Cameras[i].String() {
				t.Fatalf("%s came back as %s", c.Cameras[i], s)
			}
		}
	})
}
