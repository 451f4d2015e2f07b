// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package dl opens shared libraries at run time and calls their functions,
// without cgo. Everything in it is optional for the programs: a library that is
// missing is an error to report, and the build tag nodl leaves the whole
// mechanism out, for binaries that need no dynamic loader. What particular
// libraries mean does not belong here.
package dl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"
)

var (
	// ErrBuiltWithoutDL reports a program that was built with the tag nodl or for
	// a processor on which libraries cannot be opened.
	ErrBuiltWithoutDL = errors.New("built without support for shared libraries")
	// ErrNoLibrary reports that none of the names could be opened.
	ErrNoLibrary = errors.New("shared library not found")
	// ErrNoSymbol reports a library that lacks a function: mostly another version.
	ErrNoSymbol = errors.New("symbol not found")
)

// Library is an open shared library.
type Library struct {
	name   string
	handle uintptr
}

// Func is the address of a C function. Calling the zero Func panics.
type Func uintptr

// Open opens the first of the names that the dynamic loader finds. It fails
// with ErrBuiltWithoutDL, or with ErrNoLibrary and the loader's words for each.
func Open(names ...string) (*Library, error) {
	var problems []string
	for _, name := range names {
		handle, err := open(name)
		if errors.Is(err, ErrBuiltWithoutDL) {
			return nil, fmt.Errorf("%w: %s", ErrBuiltWithoutDL, name)
		}
		if err == nil {
			return &Library{name: name, handle: handle}, nil
		}
		problems = append(problems, err.Error())
	}
	return nil, fmt.Errorf("%w: %s", ErrNoLibrary, strings.Join(problems, "; "))
}

// Name is the name under which the library was opened.
func (l *Library) Name() string { return l.name }

// Symbol is the function called name. It fails with ErrNoSymbol.
func (l *Library) Symbol(name string) (Func, error) {
	f, err := symbol(l.handle, name)
	if err != nil || f == 0 {
		return 0, fmt.Errorf("%w: %s in %s", ErrNoSymbol, name, l.name)
	}
	return f, nil
}

// Symbols looks all the names up. It fails with ErrNoSymbol, naming each that is
// missing, and then sets none.
func (l *Library) Symbols(into map[string]*Func) error {
	found := make(map[string]Func, len(into))
	var missing []string
	for name := range into {
		f, err := l.Symbol(name)
		if err != nil {
			missing = append(missing, name)
			continue
		}
		found[name] = f
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("%w: %s in %s", ErrNoSymbol, strings.Join(missing, ", "), l.name)
	}
	for name, f := range found {
		*into[name] = f
	}
	return nil
}

// Close gives the library back. None of its functions may be called or running
// then.
func (l *Library) Close() error {
	if l.handle == 0 {
		return nil
	}
	handle := l.handle
	l.handle = 0
	if err := closeLibrary(handle); err != nil {
		return fmt.Errorf("closing %s: %w", l.name, err)
	}
	return nil
}

// Call calls the function with integer and pointer arguments, at most 32, and
// returns the integer or pointer it returns. C's int fills the low 32 bits.
// Calling with a slice that is used again allocates nothing.
//
// Arguments that are addresses of Go memory come from [Address]; that memory
// must be on the heap, because stacks move, and must be kept alive until Call
// returns (runtime.KeepAlive). The C variable errno cannot be had.
func (f Func) Call(args []uintptr) uintptr {
	return call(f, args)
}

// Address is the address of p as an argument for [Func.Call].
func Address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// maxString bounds what String reads, in bytes.
const maxString = 4096

// String copies the C string at an address that a function returned; "" for
// NULL. It reads at most 4096 bytes.
func String(address uintptr) string {
	if address == 0 {
		return ""
	}
	// The address was never Go memory, so that unsafe's rules for converting
	// integers do not apply; the detour tells vet.
	p := *(**byte)(unsafe.Pointer(&address))
	var b strings.Builder
	for i := range maxString {
		c := *(*byte)(unsafe.Add(unsafe.Pointer(p), i))
		if c == 0 {
			break
		}
		b.WriteByte(c)
	}
	return b.String()
}
