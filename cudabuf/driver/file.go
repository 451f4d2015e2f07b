// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/internal/dl"
)

// ErrFile reports a file that the dynamic loader must not be given: it would end
// the process.
var ErrFile = errors.New("no library for this machine")

// Check judges the file that Open would open, without loading it: the loader
// maps what the file says it has, and a process that touches what is not there
// ends with SIGBUS. Names without a folder are the loader's to find, and pass. It
// fails with ErrNoDriver, and with ErrFile of a file that is there and no library.
func Check(library string) error {
	if library == "" {
		return nil
	}
	return checkFile(candidates(library)[0])
}

func checkFile(name string) error {
	if !strings.Contains(name, "/") {
		return nil
	}
	// A pipe or device is not waited for.
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("%w: %w: %s: %w", ErrNoDriver, dl.ErrNoLibrary, name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is no regular file", ErrNoDriver, name)
	}
	if err := checkELF(f, info.Size()); err != nil {
		return fmt.Errorf("%w: %w: %s: %w", ErrNoDriver, ErrFile, name, err)
	}
	return nil
}

// elfHeader is Elf64_Ehdr (System V ABI, chapter 4).
type elfHeader struct {
	Ident                    [16]byte
	Type, Machine            uint16
	Version                  uint32
	Entry, Programs, Section uint64
	Flags                    uint32
	Size, ProgramSize, Count uint16
	_                        [3]uint16
}

// elfProgram is Elf64_Phdr.
type elfProgram struct {
	Type, Flags                              uint32
	Offset, Virtual, Physical, InFile, InMem uint64
	Align                                    uint64
}

const (
	elf64      = 2 // ELFCLASS64
	elfLittle  = 1 // ELFDATA2LSB
	elfDynamic = 3 // ET_DYN
	elfLoad    = 1 // PT_LOAD
)

// elfMachine is e_machine of libraries for this processor.
var elfMachine = map[string]uint16{"amd64": 62, "arm64": 183}

// checkELF holds what a library says it has against the size of its file.
func checkELF(r io.ReaderAt, size int64) error {
	var h elfHeader
	if err := readAt(r, 0, size, &h); err != nil {
		return errors.New("no shared library")
	}
	machine := elfMachine[runtime.GOARCH]
	switch {
	case !bytes.HasPrefix(h.Ident[:], []byte("\x7fELF")):
		return errors.New("no shared library")
	case h.Ident[4] != elf64 || h.Ident[5] != elfLittle || machine != 0 && h.Machine != machine:
		return fmt.Errorf("for another processor (class %d, machine %d), not for %s", h.Ident[4], h.Machine, runtime.GOARCH)
	case h.Type != elfDynamic:
		return fmt.Errorf("no shared library but of type %d", h.Type)
	case h.ProgramSize != 56 || h.Programs > uint64(size):
		return errors.New("damaged: the table of its segments is not in the file")
	}
	loaded := false
	for i := range int64(h.Count) {
		var p elfProgram
		if err := readAt(r, int64(h.Programs)+i*int64(h.ProgramSize), size, &p); err != nil {
			return errors.New("damaged: the table of its segments is not in the file")
		}
		if p.Type != elfLoad {
			continue
		}
		loaded = true
		if p.InFile > uint64(size) || p.Offset > uint64(size)-p.InFile {
			return fmt.Errorf("damaged: a segment of %d bytes is at %d, the file has %d", p.InFile, p.Offset, size)
		}
	}
	if !loaded {
		return errors.New("damaged: it has no segments")
	}
	return nil
}

func readAt(r io.ReaderAt, at, size int64, into any) error {
	return binary.Read(io.NewSectionReader(r, at, size-at), binary.LittleEndian, into)
}
