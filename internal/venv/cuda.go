// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package venv

import (
	"os/exec"
	"strings"
	"testing"
)

// CUDA has NVIDIA's own headers, of the last CUDA 12 and of CUDA 13, and that of
// its management library.
var CUDA = Env{
	Name: "cuda",
	Pins: []string{
		"nvidia-cuda-runtime==13.5.37",
		"nvidia-cuda-runtime-cu12==12.9.79",
		"nvidia-nvml-dev==13.4.92",
	},
	Imports: cudaHeaders,
}

// cudaHeaders is Python that prints where the headers are and fails without.
const cudaHeaders = `
import os, sysconfig
for name in "cu13/include/cuda.h", "cuda_runtime/include/cuda.h", "cu13/include/nvml.h":
    header = os.path.join(sysconfig.get_paths()["purelib"], "nvidia", name)
    os.stat(header)
    print(header)
`

// CUDAHeaders returns the paths of cuda.h, the newest first. What it takes is
// what Python takes.
func CUDAHeaders(t testing.TB) []string {
	t.Helper()
	return headers(t)[:2]
}

// NVMLHeader returns the path of nvml.h.
func NVMLHeader(t testing.TB) string {
	t.Helper()
	return headers(t)[2]
}

func headers(t testing.TB) []string {
	t.Helper()
	out, err := exec.Command(CUDA.Python(t), "-c", cudaHeaders).Output()
	if err != nil {
		t.Fatal(err)
	}
	paths := strings.Fields(string(out))
	if len(paths) != 3 {
		t.Fatalf("headers %q", paths)
	}
	return paths
}
