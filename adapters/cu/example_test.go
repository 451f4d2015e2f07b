// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuframe

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed-3c7e7623/camd/capture/pattern"
	"github.com/seed-3c7e7623/camd/frame"
)

// program builds the example as this test is built.
func program(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "example")
	if out, err := exec.Command("go", "build", "-race", "-o", file, "./example").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// The example's last picture, inverted once more, is a frame that the camera made.
// Where there is no GPU or no driver, cu or the loader ends it before it begins.
func TestExample(t *testing.T) {
	rules(t)
	example := program(t)
	dir := daemon(t)
	t.Run("inverts", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "picture")
		cmd := exec.CommandContext(bounded(t), example, "-n", "5", "-o", file, "test/color")
		cmd.Env = append(os.Environ(), "CAMD_RUNTIME_DIR="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil || bytes.Count(out, []byte("frame ")) != 5 || !bytes.Contains(out, []byte("by cuda for")) || !bytes.Contains(out, []byte("SIMULATED")) {
			t.Errorf("%v\n%s", err, out)
		}
		picture, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range picture {
			picture[i] = ^picture[i]
		}
		g, err := frame.NewGeometry(frame.BGRA8, 160, 120)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := pattern.Verify(g, picture); err != nil || n == 0 {
			t.Errorf("the picture is %d: %v", n, err)
		}
	})
	for _, c := range []struct {
		name, variable string
		code           int
		says           string
	}{
		{"no GPU", "CUDASIM_PROFILE=no-driver", 1, "NoDevice"},
		{"no driver", "LD_LIBRARY_PATH=", 127, "libcuda.so.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.CommandContext(bounded(t), example, "-h")
			cmd.Env = append(os.Environ(), c.variable)
			out, _ := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != c.code || !bytes.Contains(out, []byte(c.says)) {
				t.Errorf("%v\n%s", cmd.ProcessState, out)
			}
		})
	}
}

func TestReadmeShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(readme, source) {
		t.Error("README.md shows another program than example/main.go")
	}
}

// NVIDIA's assembler takes the kernel, for the oldest GPU that the last CUDA 12 serves
// and for newer ones.
func TestPTX(t *testing.T) {
	for _, arch := range []int{50, 75, 90, 100} {
		out, err := exec.CommandContext(bounded(t), os.Getenv("PTXAS"), fmt.Sprintf("-arch=sm_%d", arch), "-o", filepath.Join(t.TempDir(), "cubin"), "example/invert.ptx").CombinedOutput()
		if err != nil {
			t.Errorf("sm_%d: %v\n%s", arch, err, out)
		}
	}
}
