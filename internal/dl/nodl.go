// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build nodl || !linux || !(amd64 || arm64)

package dl

// Available says whether this build can open libraries at all.
const Available = false

func open(string) (uintptr, error) { return 0, ErrBuiltWithoutDL }

func symbol(uintptr, string) (Func, error) { return 0, ErrBuiltWithoutDL }

func closeLibrary(uintptr) error { return nil }

func call(Func, []uintptr) uintptr { return 0 }
