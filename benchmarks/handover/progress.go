// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// progress is one line that overwrites itself, on a terminal only. It is
// written between blocks.
type progress struct {
	out  io.Writer
	live bool
	n    int // pairs of blocks begun
	all  int
}

func newProgress(o Options, out io.Writer) *progress {
	p := &progress{out: out, all: (len(o.Sizes)*len(o.Rates) + len(o.Readers)) * len(o.Wakes) * o.Repeats}
	if f, ok := out.(*os.File); ok {
		_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
		p.live = err == nil
	}
	return p
}

func (p *progress) show(c cell, repeat int) {
	p.n++
	if p.live {
		fmt.Fprintf(p.out, "\r\033[K%d/%d  %v, repeat %d", p.n, p.all, c, repeat+1)
	}
}

func (p *progress) clear() {
	if p.live {
		fmt.Fprint(p.out, "\r\033[K")
	}
}
