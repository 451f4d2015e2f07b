// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Process is what a process of a run has of the driver, or had when it ended.
type Process struct {
	PID   int
	Alive bool
	// Objects that it made and did not give back, by kind.
	Contexts, Streams, Events, Handles, Reservations, Mappings, Allocations, HostAllocations, Registrations int
	// Calls counts the calls of each function of the driver.
	Calls map[string]uint64
}

// Leaks names what the process still has; "" is nothing. Of a process that
// ended by itself that is a leak; one that was killed is expected to.
func (p Process) Leaks() string {
	var left []string
	for _, k := range []struct {
		n    int
		what string
	}{
		{p.Contexts, "contexts"},
		{p.Streams, "streams"},
		{p.Events, "events"},
		{p.Handles, "handles of memory"},
		{p.Reservations, "reservations of addresses"},
		{p.Mappings, "mappings"},
		{p.Allocations, "pieces of device memory"},
		{p.HostAllocations, "host allocations"},
		{p.Registrations, "registrations of host memory"},
	} {
		if k.n != 0 {
			left = append(left, fmt.Sprintf("%d %s", k.n, k.what))
		}
	}
	return strings.Join(left, ", ")
}

// The layout of the files proc-*, see struct page in libcuda/run.c.
const (
	pageMagic     = 0x4d495343
	pageCounts    = 8
	pageFunctions = pageCounts + 16*4
	functionName  = 56
	functionSize  = functionName + 8
)

// Processes are those of a run that have initialised the driver, dead ones
// included, in no order.
func Processes(t testing.TB, dir string) []Process {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "proc-*"))
	if err != nil {
		t.Fatal(err)
	}
	var all []Process
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) < pageFunctions || binary.NativeEndian.Uint32(text) != pageMagic {
			continue // it is about to begin, or died at it
		}
		p := Process{PID: int(binary.NativeEndian.Uint32(text[4:])), Calls: map[string]uint64{}}
		if p.Alive, err = locked(name); err != nil {
			t.Fatal(err)
		}
		for i, n := range []*int{
			&p.Contexts, &p.Streams, &p.Events, &p.Handles, &p.Reservations, &p.Mappings, &p.Allocations, &p.HostAllocations, &p.Registrations,
		} {
			*n = int(int32(binary.NativeEndian.Uint32(text[pageCounts+4*i:])))
		}
		for f := text[pageFunctions:]; len(f) >= functionSize && f[0] != 0; f = f[functionSize:] {
			name, _, _ := strings.Cut(string(f[:functionName]), "\x00")
			p.Calls[name] = binary.NativeEndian.Uint64(f[functionName:])
		}
		all = append(all, p)
	}
	return all
}

// NoLeaks fails the test for each process of the run that still has something,
// but those whose numbers are excepted: the killed ones.
func NoLeaks(t testing.TB, dir string, except ...int) {
	t.Helper()
next:
	for _, p := range Processes(t, dir) {
		for _, e := range except {
			if p.PID == e {
				continue next
			}
		}
		if left := p.Leaks(); left != "" {
			t.Errorf("rule broken: S38: process %d has left: %s", p.PID, left)
		}
	}
}
