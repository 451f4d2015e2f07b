// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
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
	notes string // the first damage of a pass
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
	p.notes = ""
	var number uint64
	for {
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
			if p.notes == "" {
				p.notes = err.Error()
			}
			if _, err := p.due(ctx); err != nil {
				return frames, err
			}
			p.writer.Drop(1, capture.DropDamaged)
		case errors.Is(err, io.ErrUnexpectedEOF):
			p.notes = "it " + err.Error()
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

// judge says what the end of a pass means; nil is: play it again.
func (p *nativePlayer) judge(frames uint64) error {
	problem := ""
	if p.notes != "" {
		problem = ", " + p.notes
	}
	switch {
	case frames == 0:
		return fmt.Errorf("%w: %s: no frames in it%s", capture.ErrFormatRefused, p.Describe(), problem)
	case !p.loop:
		return fmt.Errorf("%w: %s: %d frames%s", capture.ErrEndOfStream, p.Describe(), frames, problem)
	case problem != "" && !p.warned:
		p.warned = true
		p.log().Warn("recording is damaged, what can be read is looped", "source", p.Describe(), "frames", frames, "problem", p.notes)
	}
	return nil
}
