// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cvmat_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// The program that the README shows, against a camd.
func TestExample(t *testing.T) {
	dir := startCamd(t, "front=pattern,320x240@200")
	cmd := exec.CommandContext(bounded(t), filepath.Join(programs, "edges"), "-count", "20", "front/color")
	cmd.Env = append(os.Environ(), "CAMD_RUNTIME_DIR="+dir)
	out, err := cmd.CombinedOutput()
	line := regexp.MustCompile(`(?m)^frame \d+: mean \d+\.\d, edges [1-9]\d?\.\d\d % of the picture, \d+\.\d frames/s$`)
	if err != nil || len(line.FindAll(out, -1)) != 2 {
		t.Errorf("%v\n%s", err, out)
	}
	program, err := os.ReadFile(filepath.Join("example", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := bytes.Cut(program, []byte("\n\n"))
	if !bytes.Contains(readme, bytes.TrimSpace(text)) {
		t.Error("the README shows another program than example/main.go")
	}
}
