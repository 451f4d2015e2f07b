// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/seed-3c7e7623/camd/capture/pattern"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
)

// errBadFrames reports frames that changed while they were held.
var errBadFrames = errors.New("bad frames")

// verifyResult counts what --verify found. A frame counts at most once.
type verifyResult struct {
	Frames uint64 `json:"frames"`           // checked at take and at release
	Torn   uint64 `json:"torn"`             // contents wrong, or changed while held
	Stale  uint64 `json:"stale"`            // overwritten while held, and the ring said so
	Unread uint64 `json:"unread,omitempty"` // could not be read: nothing is known of them
}

func (v verifyResult) err() error {
	if v.Torn == 0 && v.Stale == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d torn and %d stale of %d verified", errBadFrames, v.Torn, v.Stale, v.Frames)
}

// verifier checks frames when they are taken and again when they are released,
// so that an overwrite during the hold is seen. The zero value is ready.
type verifier struct {
	held  []takenFrame
	found verifyResult
}

type takenFrame struct {
	frame   heldFrame
	sum     uint32 // CRC-32C at take, of frames that say nothing about themselves
	counted bool   // already found bad
}

// castagnoli has instructions of its own on amd64 and arm64.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// take checks a frame that was just taken.
func (v *verifier) take(f heldFrame) {
	t := takenFrame{frame: f}
	if carriesNumber(f) {
		t.counted = v.judge(f, numberOK(f))
	} else {
		t.sum = crc32.Checksum(f.Data(), castagnoli)
		t.counted = v.judge(f, true)
	}
	v.held = append(v.held, t)
}

// release checks a frame that take has seen and that is still held.
func (v *verifier) release(f heldFrame) {
	for i, t := range v.held {
		if t.frame != f {
			continue
		}
		v.found.Frames++
		switch {
		case t.counted:
		case carriesNumber(f):
			v.judge(f, numberOK(f))
		default:
			v.judge(f, crc32.Checksum(f.Data(), castagnoli) == t.sum)
		}
		v.held[i] = v.held[len(v.held)-1]
		v.held = v.held[:len(v.held)-1]
		return
	}
}

// judge counts a bad frame. It must come after the look at the contents: the
// ring then knows of every overwrite that the look can have met. Where the ring
// says so itself, wrong contents are no further finding.
func (v *verifier) judge(f heldFrame, contentsOK bool) (bad bool) {
	switch err := f.Valid(); {
	case unread(f) != nil:
		v.found.Unread++
	case errors.Is(err, client.ErrStaleFrame):
		v.found.Stale++
	case err != nil || !contentsOK:
		v.found.Torn++
	default:
		return false
	}
	return true
}

func (v *verifier) result() verifyResult { return v.found }

// rowNumberBytes is the width that a row needs to carry the frame's number.
const rowNumberBytes = 8

// carriesNumber reports whether the contents say which frame it is: the test
// pattern does, in every row that is wide enough.
func carriesNumber(f heldFrame) bool {
	return f.Meta().Flags&frame.Pattern != 0 && f.Geometry().Plane(0).RowBytes >= rowNumberBytes
}

// numberOK reports whether the pattern is whole and of the frame that the stamp
// belongs to.
func numberOK(f heldFrame) bool {
	return pattern.VerifyNumber(f.Geometry(), f.Data(), f.Meta().DriverSequence) == nil
}
