// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
)

// archive writes an initial file system in the "newc" form (Linux,
// Documentation/driver-api/early-userspace/buffer-format.rst).
type archive struct {
	w      *bufio.Writer
	offset int64
	inode  int
	err    error
}

func newArchive(w io.Writer) *archive { return &archive{w: bufio.NewWriterSize(w, 1<<20)} }

// dir adds a directory; those above it come first.
func (a *archive) dir(name string) { a.entry(name, 0o040755, nil) }

// file adds a file.
func (a *archive) file(name string, mode fs.FileMode, data []byte) {
	a.entry(name, 0o100000|uint32(mode.Perm()), data)
}

// close ends the archive.
func (a *archive) close() error {
	a.entry("TRAILER!!!", 0, nil)
	if a.err != nil {
		return a.err
	}
	return a.w.Flush()
}

func (a *archive) entry(name string, mode uint32, data []byte) {
	a.inode++
	links := 1
	if mode&0o040000 != 0 {
		links = 2
	}
	// inode, mode, uid, gid, links, mtime, size, device (2), rdev (2), length of
	// the name with its NUL, checksum.
	a.write([]byte(fmt.Sprintf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		a.inode, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(name)+1, 0)))
	a.write([]byte(name + "\x00"))
	a.pad()
	a.write(data)
	a.pad()
}

func (a *archive) write(b []byte) {
	if a.err == nil {
		_, a.err = a.w.Write(b)
		a.offset += int64(len(b))
	}
}

func (a *archive) pad() { a.write(make([]byte, -a.offset&3)) }
