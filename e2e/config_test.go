// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

func TestConfigurationThatComesWithIt(t *testing.T) {
	dir := newDir(t)
	p := start(t, nil, built.camd, "run", "--runtime-dir", dir, "-c", "../deploy/camd.yaml", "--set", "cameras.test.size=64x48", "--set", "log.format=json")
	d := &daemon{process: p, dir: dir}
	d.awaitErr(`"msg":"camd running"`)
	d.ready()
	info := d.camsub("hz", "test/color", "--count", "3", "--verify")
	if code := info.wait(); code != 0 {
		t.Errorf("camsub: exit code %d: %s", code, info.err)
	}
	if text := info.err.String(); !strings.Contains(text, "64x48 bgra8") {
		t.Errorf("camsub says %s", text)
	}
	d.stop()
}
