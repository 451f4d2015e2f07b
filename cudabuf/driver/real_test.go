// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/dl"
)

// TestReal goes through NVIDIA's own library, the path of which (libcuda.so.1
// will do) is in CAMD_TEST_LIBCUDA: its functions and names of errors, and where
// there is a GPU, frames and shared memory on that.
func TestReal(t *testing.T) {
	library := os.Getenv("CAMD_TEST_LIBCUDA")
	if library == "" {
		t.Skip("CAMD_TEST_LIBCUDA names no library")
	}
	lib, err := dl.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range functions {
		if _, err := lib.Symbol(f.name); err != nil {
			t.Error(err)
		}
	}
	getErrorName, err := lib.Symbol("cuGetErrorName")
	if err != nil {
		t.Fatal(err)
	}
	name := new([1]uintptr)
	for code, want := range names {
		// An older driver does not know them all.
		if r := Result(getErrorName.Call([]uintptr{uintptr(code), dl.Address(&name[0])})); r == Success && dl.String(name[0]) != want {
			t.Errorf("%d is %s, not %s", code, dl.String(name[0]), want)
		}
	}

	d, err := Open(library)
	if errors.Is(err, ErrNoDevice) {
		t.Logf("no GPU: %v", err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	devices, err := d.Devices()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("CUDA %s, %s, kernel module %s", VersionString(d.Version()), d.Library(), d.ModuleVersion())
	for _, dev := range devices {
		t.Logf("%+v", dev)
		th, err := d.Start(dev, "test")
		if err != nil {
			t.Error(err)
			continue
		}
		if err := th.Do(func() error { return errors.Join(frames(t, th), shared(t, th)) }); err != nil {
			t.Error(err)
		}
		if err := th.Close(); err != nil {
			t.Error(err)
		}
	}
}

// shared writes exported memory and reads it where it is imported.
func shared(t *testing.T, th *Thread) error {
	size, err := th.Granularity()
	if err != nil {
		return err
	}
	first, err := th.MemCreate(size)
	if err != nil {
		return err
	}
	fd, err := th.ExportFD(first)
	if err != nil {
		return err
	}
	second, err := th.ImportFD(fd)
	if err != nil {
		return err
	}
	if err := syscall.Close(fd); err != nil {
		return err
	}
	var at [2]Ptr
	for i, h := range []Handle{first, second} {
		if at[i], err = th.Reserve(size, 0); err != nil {
			return err
		}
		if err := errors.Join(th.Map(at[i], size, h), th.MemRelease(h), th.SetAccess(at[i], size, i == 0)); err != nil {
			return err
		}
	}
	info, err := th.PointerInfo(at[0] + 4096)
	if err != nil || info.Base != at[0] || info.Bytes != size || info.Host || !info.PosixFD {
		t.Errorf("%+v, %v", info, err)
	}
	s, err := th.NewStream(0)
	if err != nil {
		return err
	}
	written, err := th.HostAlloc(64 << 10)
	if err != nil {
		return err
	}
	read, err := th.HostAlloc(64 << 10)
	if err != nil {
		return err
	}
	for i := range written {
		written[i] = byte(i * 11 >> 3)
	}
	if err := errors.Join(th.HtoD(at[0], written, s), th.DtoH(read, at[1], s), th.StreamSync(s)); err != nil {
		return err
	}
	if !bytes.Equal(read, written) {
		t.Error("what is read is not what was written")
	}
	err = errors.Join(th.DestroyStream(s), th.HostFree(written), th.HostFree(read))
	for _, p := range at {
		err = errors.Join(err, th.Unmap(p, size), th.AddressFree(p, size))
	}
	return err
}
