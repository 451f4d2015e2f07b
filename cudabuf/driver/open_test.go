// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/dl"
)

func TestNoDriver(t *testing.T) {
	d, err := Open(filepath.Join(t.TempDir(), "libcuda.so.1"))
	if d != nil || !errors.Is(err, ErrNoDriver) {
		t.Errorf("got %v, %v", d, err)
	}
	if want := dl.ErrNoLibrary; !dl.Available && !errors.Is(err, dl.ErrBuiltWithoutDL) || dl.Available && !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
}

// Each code of cuInit is one sentinel, and the text says what to do.
func TestOpenSaysWhy(t *testing.T) {
	for _, c := range []struct {
		code int
		want error
		text string
	}{
		{34, ErrStub, "stubs folder"},
		{36, ErrMismatch, "kernel module is older"},
		{803, ErrMismatch, "different versions"},
		{804, ErrMismatch, "cuda-compat"},
		{100, ErrNoDevice, "CUDA_VISIBLE_DEVICES"},
		{802, ErrNotReady, "Fabric Manager"},
		{2, ErrOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY (2)"},
		{999, nil, "nvidia-uvm"},
		{4711, nil, "CUDA error 4711"},
	} {
		t.Run(Result(c.code).Name(), func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.call(t, "fake_init", uintptr(c.code))
			_, err := Open(f.path)
			var e *Error
			if !errors.As(err, &e) || e.Call != "cuInit" {
				t.Fatalf("got %v", err)
			}
			for _, sentinel := range []error{ErrNoDriver, ErrStub, ErrMismatch, ErrNoDevice, ErrNotReady, ErrTooOld, ErrOutOfMemory, ErrThread} {
				if got, want := errors.Is(err, sentinel), sentinel == c.want; got != want { //nolint:errorlint // which of them it is
					t.Errorf("is %q: %t", sentinel, got)
				}
			}
			if !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), f.path) {
				t.Errorf("says %q", err)
			}
		})
	}
}

// What lacks functions is too old, or can do less.
func TestLacks(t *testing.T) {
	f := newFake(t, "cuMemHostRegister_v2", "cuDevicePrimaryCtxRelease_v2")
	if _, err := Open(f.path); !errors.Is(err, ErrTooOld) ||
		!strings.Contains(err.Error(), "lacks cuDevicePrimaryCtxRelease_v2, cuMemHostRegister_v2; CUDA 11.0") {
		t.Errorf("got %v", err)
	}

	f = newFake(t, "cuMemCreate", "cuDeviceGetUuid_v2")
	thread := f.start(t)
	if dev := thread.Device(); dev.UUID[15] != 16 || thread.Driver().VMM() || dev.VMM || dev.PosixFD || !dev.HostRegister {
		t.Errorf("got %+v", dev)
	}
	err := thread.Do(func() error {
		_, err := thread.MemCreate(1 << 21)
		return err
	})
	if !errors.Is(err, ErrTooOld) || !strings.Contains(err.Error(), "came with CUDA 10.2") {
		t.Errorf("got %v", err)
	}
}

func TestDevices(t *testing.T) {
	f := newFake(t)
	f.call(t, "fake_count", 2)
	d, err := Open(filepath.Dir(f.path)) // a folder serves as well
	if err != nil {
		t.Fatal(err)
	}
	if real, _ := filepath.EvalSymlinks(f.path); d.Version() != 12090 || VersionString(d.Version()) != "12.9" || d.Library() != real || !d.VMM() {
		t.Errorf("got version %d, library %s", d.Version(), d.Library())
	}
	devices, err := d.Devices()
	if err != nil || len(devices) != 2 {
		t.Fatal(devices, err)
	}
	want := Device{
		Ordinal: 1, UUID: UUID{16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}, Name: "Fake GPU", PCI: "0000:0a:00.0", Memory: 5 << 32,
		Major: 9, Minor: 1, MultiProcessors: 1, AsyncEngines: 1, ComputeMode: 1, VMM: true, PosixFD: true, HostRegister: true,
	}
	if devices[1] != want {
		t.Errorf("got  %+v\nwant %+v", devices[1], want)
	}
	for _, c := range []struct {
		want    string
		ordinal int
		err     error
		text    string
	}{
		{"", 0, nil, ""},
		{"1", 1, nil, ""},
		{"GPU-10111213-1415-1617-1819-1a1b1c1d1e1f", 1, nil, ""},
		{"MIG-00010203-0405-0607-0809-0A0B0C0D0E0F", 0, nil, ""},
		{"2", 0, ErrNoSuchDevice, "0 is GPU-00010203-0405-0607-0809-0a0b0c0d0e0f (Fake GPU), 1 is"},
		{"GPU-20111213-1415-1617-1819-1a1b1c1d1e1f", 0, ErrNoSuchDevice, "1 is GPU-1011"},
		{"the big one", 0, ErrNoSuchDevice, "or a number"},
	} {
		got, err := Find(devices, c.want)
		if !errors.Is(err, c.err) || got.Ordinal != c.ordinal || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: got %d, %v", c.want, got.Ordinal, err)
		}
	}

	f.call(t, "fake_count", 0)
	if _, err := d.Devices(); !errors.Is(err, ErrNoDevice) {
		t.Errorf("got %v", err)
	}
}

func TestUUID(t *testing.T) {
	u := UUID{0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255}
	const s = "GPU-deadbeef-0102-0304-0506-0708090a0bff"
	if u.String() != s {
		t.Errorf("got %s", u)
	}
	for _, good := range []string{s, strings.ToUpper(s), "mig-" + s[4:], s[4:]} {
		var back UUID
		if err := back.UnmarshalText([]byte(good)); err != nil || back != u {
			t.Errorf("%s: %v, %v", good, back, err)
		}
	}
	for _, bad := range []string{"", "GPU-", s + "0", s[:len(s)-1], "GPU-deadbeef-0102-0304-0506-0708090a0bfg", "GPU-deadbeef0102-0304-0506--0708090a0bff", "CPU-" + s[4:]} {
		if _, err := ParseUUID(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, soname)
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	old, oldWSL := folders, wslFolder
	defer func() { folders, wslFolder = old, oldWSL }()
	folders = []string{filepath.Join(dir, "none"), dir}
	if got, want := candidates(""), []string{soname, file}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	wslFolder = dir
	if got, want := candidates(""), []string{file, soname, file}; !slices.Equal(got, want) {
		t.Errorf("under Windows: got %v, want %v", got, want)
	}
	wslFolder = filepath.Join(dir, "none")
	if got, want := candidates("/opt/libcuda.so.580"), []string{"/opt/libcuda.so.580"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if slices.ContainsFunc(old, func(f string) bool { return strings.Contains(f, "stubs") }) {
		t.Error("looks for stubs")
	}

	// The stub that the loader may find does not hide the driver elsewhere.
	stub, good := newFake(t), newFake(t)
	stub.call(t, "fake_init", uintptr(StubLibrary))
	folders = []string{filepath.Dir(stub.path), filepath.Dir(good.path)}
	if d, err := Open(""); err != nil || d.Library() != good.path {
		t.Errorf("got %v", err)
	}
	folders = folders[:1]
	if _, err := Open(""); !errors.Is(err, ErrStub) {
		t.Errorf("got %v", err)
	}
}

func TestModuleVersion(t *testing.T) {
	for text, want := range map[string]string{
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\nGCC version:  gcc 12.2.0\n":                  "535.129.03",
		"NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.65.06  Release Build  (root@builder)  Sun Jul 27 06:55:00 UTC 2025\nGCC": "580.65.06",
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  390.157  Wed Oct 12 09:19:07 UTC 2022":                                                 "390.157",
		"something else\n1.2.3": "",
		"":                      "",
	} {
		file := filepath.Join(t.TempDir(), "version")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := moduleVersion(file); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := moduleVersion("/nowhere"); got != "" {
		t.Errorf("got %q", got)
	}
}

// UUIDs come from configuration and from other processes.
func FuzzParseUUID(f *testing.F) {
	for _, s := range []string{"GPU-deadbeef-0102-0304-0506-0708090a0bff", "mig-DEADBEEF-0102-0304-0506-0708090a0bff", "deadbeef-0102-0304-0506-0708090a0bff", "GPU-", "----"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseUUID(s)
		if err != nil {
			if u != (UUID{}) {
				t.Errorf("%q: %v beside %v", s, u, err)
			}
			return
		}
		if !strings.HasSuffix(strings.ToLower(s), u.String()[4:]) {
			t.Errorf("%q is %s", s, u)
		}
		if back, err := ParseUUID(u.String()); err != nil || back != u {
			t.Errorf("%s: %v, %v", u, back, err)
		}
	})
}
