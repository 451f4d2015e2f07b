// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/jpeg"
)

// reader reads a recording in this process.
type reader interface {
	// look says what the next frame is like; io.EOF at the end.
	look() (frame.Geometry, error)
	// read puts that frame into dst, which has the geometry's size, and returns
	// how many bytes were copied from memory to memory. A nil dst passes over
	// the frame.
	read(dst []byte) (copied int, err error)
	// rewind goes back to the first frame.
	rewind() error
	Close() error
}

// errDamaged: this frame cannot be read, the next ones may.
var errDamaged = errors.New("damaged frame")

// nativePlayer is one run without ffmpeg.
type nativePlayer struct {
	output
	rec   *recording
	sink  capture.Sink
	notes string         // how the pass ended early, or its first damage
	lost  map[string]int // damaged frames of the pass by reason
}

// play plays the recording, again and again if it loops. It returns an error
// always.
func (p *nativePlayer) play(ctx context.Context) error {
	for pass := 0; ; pass++ {
		frames, err := p.pass(ctx, pass)
		if err == nil {
			err = p.judge(frames)
		}
		if err == nil {
			err = p.rec.rewind()
		}
		if err != nil {
			return err
		}
	}
}

// pass plays it once. It returns how many frames there were.
func (p *nativePlayer) pass(ctx context.Context, pass int) (frames uint64, err error) {
	p.notes, p.lost = "", make(map[string]int)
	var number uint64
	for {
		if err := ctx.Err(); err != nil {
			return frames, err
		}
		g, err := p.rec.look()
		if err == nil && g != p.geometry {
			p.geometry = g
			err = p.open(p.sink, p.rec.clip)
		}
		published := false
		if err == nil {
			number++
			published, err = p.one(ctx, pass, number)
		}
		switch {
		case err == nil && published:
			frames++
		case err == nil:
		case errors.Is(err, errDamaged):
			p.damage(err)
			if _, err := p.due(ctx); err != nil {
				return frames, err
			}
			p.writer.Drop(1, capture.DropDamaged)
		case errors.Is(err, io.ErrUnexpectedEOF):
			p.notes = strings.TrimPrefix(p.notes+"; it "+strings.TrimSuffix(err.Error(), ": "+io.ErrUnexpectedEOF.Error()), "; ")
			return frames, nil
		case errors.Is(err, io.EOF):
			return frames, nil
		default:
			return frames, err
		}
	}
}

// one reads a frame and publishes it when it is due.
func (p *nativePlayer) one(ctx context.Context, pass int, number uint64) (bool, error) {
	slot, err := p.writer.Acquire()
	if err != nil && !errors.Is(err, capture.ErrNoSlot) {
		return false, err
	}
	var dst []byte
	if slot != nil {
		dst = slot.Data[:p.geometry.Size()]
	}
	copied, err := p.rec.read(dst)
	var captured int64
	if err == nil {
		captured, err = p.due(ctx)
	}
	if err != nil {
		if slot != nil {
			p.writer.Discard(slot)
		}
		return false, err
	}
	st := p.stamp(captured, pass, number)
	st.CopiedBytes = copied
	p.publish(slot, st)
	return true, nil
}

// damage counts a frame that cannot be read. The first one of a pass is kept in
// words.
func (p *nativePlayer) damage(err error) {
	reason := jpeg.Reason(err)
	if reason == "" {
		reason = "unreadable"
	}
	p.lost[reason]++
	if p.notes == "" {
		p.notes = "first " + err.Error()
	}
}

// problem is what went wrong in a pass; "" is nothing.
func (p *nativePlayer) problem() string {
	var counts []string
	for _, reason := range slices.Sorted(maps.Keys(p.lost)) {
		counts = append(counts, fmt.Sprintf("%d %s", p.lost[reason], reason))
	}
	if len(counts) == 0 {
		return p.notes
	}
	return fmt.Sprintf("damaged frames: %s; %s", strings.Join(counts, ", "), p.notes)
}

// judge says what the end of a pass means; nil is: play it again.
func (p *nativePlayer) judge(frames uint64) error {
	seen := frames
	for _, n := range p.lost {
		seen += uint64(n)
	}
	if p.notes == "" && seen < p.rec.clip.frames {
		p.notes = fmt.Sprintf("early: its header promises %d", p.rec.clip.frames)
	}
	problem := p.problem()
	if problem != "" {
		problem = ", " + problem
	}
	switch {
	case frames == 0:
		return fmt.Errorf("%w: %s: no frames in it%s", capture.ErrFormatRefused, p.Describe(), problem)
	case !p.loop:
		return fmt.Errorf("%w: %s: %d frames%s", capture.ErrEndOfStream, p.Describe(), frames, problem)
	case problem != "" && !p.warned:
		p.warned = true
		p.log().Warn("recording is damaged, what can be read is looped", "source", p.Describe(), "frames", frames, "problem", p.problem())
	}
	return nil
}
