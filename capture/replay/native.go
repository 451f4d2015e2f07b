// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/mjpeg"
	"github.com/seed-3c7e7623/camd/capture/replay/avi"
	"github.com/seed-3c7e7623/camd/capture/replay/y4m"
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
	out   delivery
	notes string       // how the pass ended early
	lost  mjpeg.Damage // frames of the pass
}

// delivery is how the frames of a recording become frames of streams.
type delivery interface {
	// fit prepares for frames of geometry g.
	fit(g frame.Geometry) error
	// take reads the next frame.
	take() error
	// publish publishes the frame that was taken, discard forgets it.
	publish(st capture.Stamp)
	discard()
	// damaged counts a frame that cannot be read.
	damaged(err error)
	close()
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
	p.notes, p.lost = "", mjpeg.Damage{}
	var number uint64
	for {
		if err := ctx.Err(); err != nil {
			return frames, err
		}
		g, err := p.rec.look()
		if err == nil && g != p.geometry {
			p.geometry = g
			err = p.out.fit(g)
		}
		if err == nil {
			number++
			err = p.one(ctx, pass, number)
		}
		switch {
		case err == nil:
			frames++
		case errors.Is(err, errDamaged):
			p.lost.Add(err)
			if _, err := p.due(ctx); err != nil {
				return frames, err
			}
			p.out.damaged(err)
		case errors.Is(err, io.ErrUnexpectedEOF):
			p.notes = "it " + strings.TrimSuffix(err.Error(), ": "+io.ErrUnexpectedEOF.Error())
			return frames, nil
		case errors.Is(err, io.EOF):
			return frames, nil
		case errors.Is(err, y4m.ErrHeader), errors.Is(err, avi.ErrFormat):
			// Where the next frame begins is not known any more, and reading the
			// file again finds the same: this is its end.
			p.notes = err.Error()
			return frames, nil
		default:
			return frames, err
		}
	}
}

// one reads a frame and publishes it when it is due.
func (p *nativePlayer) one(ctx context.Context, pass int, number uint64) error {
	err := p.out.take()
	var captured int64
	if err == nil {
		captured, err = p.due(ctx)
	}
	if err != nil {
		p.out.discard()
		return err
	}
	p.out.publish(p.stamp(captured, pass, number))
	return nil
}

// problem is what went wrong in a pass; "" is nothing.
func (p *nativePlayer) problem() string {
	var parts []string
	if p.lost.Frames() > 0 {
		parts = append(parts, "damaged frames: "+p.lost.String(), "first "+p.lost.First())
	}
	if p.notes != "" {
		parts = append(parts, p.notes)
	}
	return strings.Join(parts, "; ")
}

// judge says what the end of a pass means; nil is: play it again.
func (p *nativePlayer) judge(frames uint64) error {
	if seen := frames + uint64(p.lost.Frames()); p.notes == "" && seen < p.rec.clip.frames {
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
