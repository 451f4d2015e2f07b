// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package venv

import (
	"os/exec"
	"strings"
	"testing"
)

// CUDA has NVIDIA's own headers, of the last CUDA 12 and of CUDA 13.
var CUDA = Env{
	Name: "cuda",
	Pins: []string{
		"nvidia-cuda-runtime==13.5.37",
		"nvidia-cuda-runtime-cu12==12.9.79",
	},
	Imports: cudaHeaders,
}

// cudaHeaders is Python that prints where the headers are and fails without.
const cudaHeaders = `
import os, sysconfig
for part in "cu13", "cuda_runtime":
    header = os.path.join(sysconfig.get_paths()["purelib"], "nvidia", part, "include", "cuda.h")
    os.stat(header)
    print(header)
`

// CUDAHeaders returns the paths of cuda.h, the newest first. What it takes is
// what Python takes.
func CUDAHeaders(t testing.TB) []string {
	t.Helper()
	out, err := exec.Command(CUDA.Python(t), "-c", cudaHeaders).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
