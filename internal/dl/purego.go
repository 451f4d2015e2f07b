// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build !nodl && linux && (amd64 || arm64)

package dl

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// Available says whether this build can open libraries at all.
const Available = true

func open(name string) (uintptr, error) {
	// The loader keeps the words for a failure per thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func symbol(handle uintptr, name string) (Func, error) {
	f, err := purego.Dlsym(handle, name)
	return Func(f), err
}

func closeLibrary(handle uintptr) error { return purego.Dlclose(handle) }

func call(f Func, args []uintptr) uintptr {
	r, _, _ := purego.SyscallN(uintptr(f), args...)
	return r
}
