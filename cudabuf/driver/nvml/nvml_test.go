// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/internal/dl"
	"github.com/seed-3c7e7623/camd/internal/venv"
)

func compiler(t testing.TB) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no C compiler: ", err)
	}
	return cc
}

// newFake compiles the library and gives its path and what sets the code of all
// further calls.
func newFake(t testing.TB) (path string, call func(name string, args ...uintptr) uintptr) {
	t.Helper()
	if !dl.Available {
		t.Skip("built without libraries")
	}
	path = filepath.Join(t.TempDir(), soname)
	if out, err := exec.Command(compiler(t), "-shared", "-fPIC", "-o", path, "testdata/fake.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lib, err := dl.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, func(name string, args ...uintptr) uintptr {
		f, err := lib.Symbol(name)
		if err != nil {
			t.Fatal(err)
		}
		return f.Call(args)
	}
}

func TestLoad(t *testing.T) {
	path, call := newFake(t)
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := l.DriverVersion(); v != "580.65.06" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
	uuid := driver.UUID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	gpu, err := l.GPU(uuid)
	if err != nil {
		t.Fatal(err)
	}
	if load, err := gpu.Load(); err != nil || load != (Load{GPU: 37, Memory: 12, Used: 10 << 30, Total: 80 << 30}) {
		t.Errorf("got %+v, %v", load, err)
	}
	want := []Process{{4711, 5 << 30}, {4712, -1}}
	processes, err := gpu.Processes(nil)
	if err != nil || !slices.Equal(processes, want) {
		t.Errorf("got %v, %v", processes, err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := gpu.Load(); err != nil {
			t.Fatal(err)
		}
		if _, err := gpu.Processes(processes[:0]); err != nil {
			t.Fatal(err)
		}
	}); n > 1 { // purego's, of a sync.Pool that the race detector empties
		t.Errorf("%v allocations", n)
	}

	part := uuid
	part[0] = 0x10
	if _, err := l.GPU(part); err != nil {
		t.Errorf("a part of a GPU: %v", err)
	}
	if _, err := l.GPU(driver.UUID{1}); !errors.Is(err, ErrNoGPU) || !strings.Contains(err.Error(), "GPU-01000000") {
		t.Errorf("got %v", err)
	}
	call("fake_fail", uintptr(NotSupported))
	if _, err := gpu.Load(); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if n := call("fake_opened"); n != 0 {
		t.Errorf("opened %d times", n)
	}
	call("fake_fail", uintptr(VersionMismatch))
	var e *Error
	if _, err := Open(path); !errors.As(err, &e) || e.Code != VersionMismatch || !strings.Contains(err.Error(), "restart the machine") {
		t.Errorf("got %v", err)
	}
}

func TestNoLibrary(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), soname))
	if !errors.Is(err, ErrNoLibrary) || !dl.Available && !errors.Is(err, dl.ErrBuiltWithoutDL) {
		t.Errorf("got %v", err)
	}
	if !dl.Available {
		return
	}
	if _, err := Open("libc.so.6"); !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), "nvmlInit_v2") {
		t.Errorf("another library: %v", err)
	}
}

// What this package believes of nvml.h is compiled as assertions against the
// header itself.
func TestABI(t *testing.T) {
	cc := compiler(t)
	header := venv.NVMLHeader(t)
	var asserts []string
	for name, v := range map[string]any{"nvmlUtilization_t": utilization{}, "nvmlMemory_t": memory{}, "nvmlProcessInfo_t": process{}, "nvmlReturn_t": success} {
		typ := reflect.TypeOf(v)
		asserts = append(asserts, fmt.Sprintf("sizeof(%s) == %d", name, typ.Size()))
		for i := 0; typ.Kind() == reflect.Struct && i < typ.NumField(); i++ {
			f := typ.Field(i)
			asserts = append(asserts,
				fmt.Sprintf("offsetof(%s, %s) == %d", name, f.Tag.Get("c"), f.Offset),
				fmt.Sprintf("sizeof(((%s *)0)->%s) == %d", name, f.Tag.Get("c"), f.Type.Size()))
		}
	}
	for _, f := range functions {
		asserts = append(asserts, fmt.Sprintf("__builtin_types_compatible_p(__typeof__(&%s), nvmlReturn_t (*)(%s))", f.name, f.params))
	}
	for name, code := range map[string]Result{
		"NVML_SUCCESS": success, "NVML_ERROR_UNINITIALIZED": Uninitialized, "NVML_ERROR_INVALID_ARGUMENT": InvalidArgument,
		"NVML_ERROR_NOT_SUPPORTED": NotSupported, "NVML_ERROR_NO_PERMISSION": NoPermission, "NVML_ERROR_NOT_FOUND": NotFound,
		"NVML_ERROR_DRIVER_NOT_LOADED": DriverNotLoaded, "NVML_ERROR_GPU_IS_LOST": GPULost, "NVML_ERROR_OPERATING_SYSTEM": OperatingSystem,
		"NVML_ERROR_LIB_RM_VERSION_MISMATCH": VersionMismatch, "NVML_ERROR_GPU_NOT_FOUND": GPUNotFound, "NVML_ERROR_UNKNOWN": Unknown,
	} {
		asserts = append(asserts, fmt.Sprintf("%s == %d", name, code))
	}
	compile := func(asserts []string) ([]byte, error) {
		c := fmt.Sprintf("#include <stddef.h>\n#include %q\n", header)
		for _, a := range asserts {
			c += fmt.Sprintf("_Static_assert(%s, %q);\n", a, a)
		}
		file := filepath.Join(t.TempDir(), "abi.c")
		if err := os.WriteFile(file, []byte(c), 0o644); err != nil {
			t.Fatal(err)
		}
		return exec.Command(cc, "-std=c11", "-fsyntax-only", "-w", file).CombinedOutput()
	}
	if out, err := compile(asserts); err != nil {
		t.Errorf("nvml.h differs: %v\n%s", err, out)
	}
	if out, err := compile([]string{"sizeof(nvmlMemory_t) == 16"}); err == nil || !strings.Contains(string(out), "nvmlMemory_t") {
		t.Errorf("what is wrong passes: %s", out)
	}
}
