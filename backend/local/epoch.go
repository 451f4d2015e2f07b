// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package local

import (
	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// Epoch is a ring as subscribers get it.
type Epoch struct {
	Ring *ring.Ring
	// Device says where the pixels are when they are in memory of a GPU. Memory
	// then duplicates the descriptor that they are imported by, which the caller
	// closes, and Probe is the random bytes in them.
	Device *negotiate.Device
	Memory func() (int, error)
	Probe  []byte
}

// probe is what a client that can read the epoch's memory knows: nil once the
// ring is retired.
func (e *Epoch) probe() []byte {
	p := e.Ring.Probe()
	if p == nil {
		return nil
	}
	return append(p, e.Probe...)
}

// files are the descriptors of header and pixels, which the caller closes.
func (e *Epoch) files() (header, pixels int, err error) {
	header, pixels, err = e.Ring.Files()
	if err != nil || e.Memory == nil {
		return header, pixels, err
	}
	if pixels, err = e.Memory(); err != nil {
		_ = unix.Close(header)
		return -1, -1, err
	}
	return header, pixels, nil
}

func (e *Epoch) layout() negotiate.Layout {
	l := e.Ring.Layout()
	return negotiate.Layout{
		Version: ring.Version, Slots: l.Slots, HeaderBytes: l.HeaderBytes, StrideBytes: l.StrideBytes,
		PixelBytes: l.PixelBytes, PageBytes: l.PageBytes, Epoch: l.Epoch,
	}
}
