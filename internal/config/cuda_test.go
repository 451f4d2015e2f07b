// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-3c7e7623/camd/backend/cuda"
	"github.com/seed-3c7e7623/camd/internal/daemon"
)

func TestCUDA(t *testing.T) {
	const uuid = "GPU-6f1c2a3b-0d4e-5f60-7182-93a4b5c6d7e8"
	file := filepath.Join(t.TempDir(), "libcuda.so.1")
	machine := map[string]byte{"amd64": 62, "arm64": 183}[runtime.GOARCH]
	// The headers of a shared library with one segment of no bytes.
	head := make([]byte, 64+56)
	copy(head, "\x7fELF\x02\x01\x01")
	head[16], head[18], head[32], head[54], head[56], head[64] = 3, machine, 64, 56, 1, 1
	if err := os.WriteFile(file, head, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "libcuda.so.1")
	if err := os.WriteFile(damaged, head[:64], 0o600); err != nil {
		t.Fatal(err)
	}
	broken := load(t, Input{Set: []string{"cuda.library=" + damaged}})
	if err := broken.CheckFiles(); err != nil {
		t.Errorf("camd does not start with a damaged library: %v", err)
	}
	if err := broken.CheckLibrary(); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged library: %v", err)
	}
	for _, c := range []struct {
		name string
		in   Input
		want daemon.GPU
	}{
		{"nothing said", Input{}, daemon.GPU{Options: cuda.Options{RingBytes: 512 << 20}}},
		{"off", Input{Set: []string{"cuda.enabled=no"}}, daemon.GPU{Options: cuda.Options{Off: true, RingBytes: 512 << 20}}},
		{"expected", Input{Environ: []string{"CAMD_CUDA_ENABLED=true", "CAMD_CUDA_DEVICE=1"}}, daemon.GPU{Options: cuda.Options{Device: "1", RingBytes: 512 << 20}, Expected: true}},
		{
			"all",
			Input{Name: "x.yaml", Data: []byte("cuda: {library: file://" + file + ", device: " + uuid + ", users: [root, 1000], ring_mib: 100}\n")},
			daemon.GPU{Options: cuda.Options{Library: file, Device: uuid, Users: []int{0, 1000}, RingBytes: 100 << 20}},
		},
		{"a name for the loader", Input{Set: []string{"cuda.library=libcuda.so.1", "cuda.ring_mib=0"}}, daemon.GPU{Options: cuda.Options{Library: "libcuda.so.1"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := load(t, c.in)
			if err := cfg.CheckFiles(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&c.want, cfg.CUDA.Daemon(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCUDARefused(t *testing.T) {
	for set, words := range map[string]string{
		"cuda.enabled=perhaps":                     "auto, true, false",
		"cuda.device=GPU-12":                       "nvidia-smi -L",
		"cuda.device=-1":                           "number from 0",
		"cuda.device=01":                           "number from 0",
		"cuda.device=4294967296":                   "number from 0",
		"cuda.users=nobody-of-this-name":           "no user has this name",
		"cuda.ring_mib=-1":                         "MiB",
		"cuda.ring_mib=2GB":                        "MiB",
		"cuda.librari=x":                           "did you mean library",
		"cuda.library=/nonexistent/libcuda.so.1":   "no such file",
		"cuda.enabled=true,cuda.library=./nothing": "auto, true, false",
	} {
		cfg, err := Load(Input{Set: []string{set}})
		if err == nil {
			err = cfg.CheckFiles()
		}
		var problems *Error
		if !errors.As(err, &problems) {
			t.Errorf("%s: %v", set, err)
			continue
		}
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %q, want %q in it", set, err, words)
		}
	}
	cfg := load(t, Input{Set: []string{"cuda.library=/nonexistent/libcuda.so.1", "cuda.enabled=false"}})
	if err := cfg.CheckFiles(); err != nil {
		t.Errorf("a library that is not used: %v", err)
	}
}
