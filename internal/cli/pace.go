// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"time"
)

// pace makes a reader slow on purpose, to see what a slow reader does. The
// zero value does nothing.
type pace struct {
	holdFor  time.Duration // keep every frame this long
	forever  bool          // keep the first frames until the end
	interval time.Duration // take at most one frame in this time

	kept  []heldFrame // frames that are kept until the end
	timer *time.Timer
	next  time.Time // when the next frame may be taken
}

// hold waits while a frame is held.
func (p *pace) hold(ctx context.Context) error { return p.wait(ctx, p.holdFor) }

// between waits after a frame was released.
func (p *pace) between(ctx context.Context) error {
	if p.interval == 0 {
		return nil
	}
	now := time.Now()
	if p.next.Before(now.Add(-p.interval)) {
		p.next = now // far behind or not begun: start counting anew
	}
	p.next = p.next.Add(p.interval)
	return p.wait(ctx, p.next.Sub(now))
}

func (p *pace) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if p.timer == nil {
		p.timer = time.NewTimer(d)
	} else {
		p.timer.Reset(d)
	}
	select {
	case <-p.timer.C:
		return nil
	case <-ctx.Done():
		p.timer.Stop()
		return ctx.Err()
	}
}
