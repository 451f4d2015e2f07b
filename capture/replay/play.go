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
)

// play plays the file, again and again if it loops. It returns an error always.
func (p *player) play(ctx context.Context) error {
	for pass := 0; ; pass++ {
		if p.current, p.standby = p.standby, nil; p.current == nil {
			var err error
			if p.current, err = startChild(p.program, p.args...); err != nil {
				return err
			}
		}
		unbind := p.current.bind(ctx)
		frames, rest, err := p.pass(ctx, pass)
		if err == nil {
			err = p.judge(frames, rest)
		}
		unbind()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		p.current.stop()
		if frames == 1 && p.first != nil {
			return p.still(ctx)
		}
	}
}

// still shows the only frame again and again: a child for each would take much
// longer than a frame is shown.
func (p *player) still(ctx context.Context) error {
	for number := uint64(2); ; number++ {
		slot, err := p.writer.Acquire()
		if err != nil && !errors.Is(err, capture.ErrNoSlot) {
			return err
		}
		if slot != nil {
			copy(slot.Data, p.first)
		}
		captured, err := p.due(ctx)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			if slot != nil {
				p.writer.Discard(slot)
			}
			return err
		}
		st := p.stamp(captured, 0, number)
		st.CopiedBytes = len(p.first)
		p.publish(slot, st)
	}
}

// pass plays the file once. It returns how many frames there were, and how many
// bytes of one more.
func (p *player) pass(ctx context.Context, pass int) (frames uint64, rest int, err error) {
	for {
		slot, err := p.writer.Acquire()
		if err != nil && !errors.Is(err, capture.ErrNoSlot) {
			return frames, 0, err
		}
		n, err := p.read(slot)
		if err != nil {
			if slot != nil {
				p.writer.Discard(slot)
			}
			if ctx.Err() != nil {
				return frames, 0, ctx.Err()
			}
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return frames, n, nil
			}
			return frames, n, err
		}
		frames++
		if frames == 1 && p.mayBeStill() {
			p.first = append(p.first[:0], p.frame(slot)...)
		}
		captured, err := p.due(ctx)
		if err != nil {
			if slot != nil {
				p.writer.Discard(slot)
			}
			return frames, 0, err
		}
		p.publish(slot, p.stamp(captured, pass, frames))
		if err := p.prepare(frames); err != nil {
			return frames, 0, err
		}
	}
}

// mayBeStill reports whether the file may have a single frame, as pictures have.
func (p *player) mayBeStill() bool { return p.loop && p.clip.frames <= 1 }

// frame is what read has read.
func (p *player) frame(slot *capture.Slot) []byte {
	if slot == nil {
		return p.scratch
	}
	return slot.Data[:p.geometry.Size()]
}

// read reads one frame into the slot, by read(2) and nothing between, or
// aside if there is none, so that the child goes on.
func (p *player) read(slot *capture.Slot) (int, error) {
	size := p.geometry.Size()
	if slot != nil {
		return io.ReadFull(p.current.out, slot.Data[:size])
	}
	if p.scratch == nil {
		p.scratch = make([]byte, size)
	}
	return io.ReadFull(p.current.out, p.scratch)
}

// prepare starts the child of the next pass when the end comes near; after the
// second frame if nobody knows where the end is. It waits by itself, its pipe being full.
func (p *player) prepare(frames uint64) error {
	if !p.loop || p.standby != nil || frames == 1 && p.mayBeStill() {
		return nil
	}
	if ahead := uint64(lead.Seconds()*p.schedule.Rate) + 1; frames+ahead < p.clip.frames {
		return nil
	}
	var err error
	p.standby, err = startChild(p.program, p.args...)
	return err
}

// judge says what the end of a pass means; nil is: play it again.
func (p *player) judge(frames uint64, rest int) error {
	exit := p.current.exit()
	said := p.current.stderr.quote()
	switch {
	case p.live && exit == nil:
		exit = fmt.Errorf("the stream ended after %d frames%s", frames, said)
		return fmt.Errorf("%w: %s: %w", capture.ErrDeviceGone, p.Describe(), exit)
	case exit != nil:
		err := p.explain(fmt.Errorf("after %d frames and %d bytes: %w", frames, rest, exit), false)
		if frames > 0 && !errors.Is(err, capture.ErrDeviceGone) {
			return fmt.Errorf("%w: %w", capture.ErrDeviceGone, err)
		}
		return err
	case frames == 0:
		return fmt.Errorf("%w: %s: no frames in it%s", capture.ErrFormatRefused, p.Describe(), said)
	}
	problem := ""
	// Durations are rounded and rates are averages; a tenth is more than that.
	if early := frames + frames/10 + 2; rest > 0 || early < p.clip.frames {
		problem = fmt.Sprintf(", early: its header promises %d", p.clip.frames)
		if rest > 0 {
			problem = fmt.Sprintf(", in the middle of a frame (%d of %d bytes)", rest, p.geometry.Size())
		}
	}
	problem += said
	if !p.loop {
		return fmt.Errorf("%w: %s: %d frames%s", capture.ErrEndOfStream, p.Describe(), frames, problem)
	}
	if problem != "" && !p.warned {
		p.warned = true
		p.log().Warn("recording is damaged, what can be read is looped", "source", p.Describe(), "frames", frames, "problem", strings.TrimLeft(problem, ",: "))
	}
	return nil
}
