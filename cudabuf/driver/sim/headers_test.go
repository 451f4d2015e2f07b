// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/venv"
)

// TestHeaders compiles the library under NVIDIA's declarations in the place of
// its own: prototypes, layouts and values must be the same.
func TestHeaders(t *testing.T) {
	headers := venv.CUDAHeaders(t)
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler")
	}
	units, err := filepath.Glob("libcuda/*.c")
	if err != nil || len(units) == 0 {
		t.Fatalf("%d sources: %v", len(units), err)
	}
	for _, header := range headers {
		if filepath.Base(header) != "cuda.h" {
			continue
		}
		args := []string{"-std=gnu11", "-D_GNU_SOURCE", "-DCUDASIM_CUDA_H", "-I" + filepath.Dir(header), "-fsyntax-only", "-Wmissing-prototypes"}
		for _, u := range units {
			if filepath.Base(u) != "entry.c" { // defines the old forms, which cuda.h renames
				args = append(args, u)
			}
		}
		out, err := exec.Command("cc", args...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", header, err, out)
		}
		// What the driver does not have is no function of ours, but for tests.
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "no previous prototype for ‘cu") && !strings.Contains(line, "‘cudasim_") {
				t.Errorf("%s: %s", header, line)
			}
		}
	}
}
