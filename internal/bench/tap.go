// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"strings"
	"sync"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// tap learns when frames were ready that come by a path which does not say it: a
// ROS 2 message has the time of capture and of publication only. It takes the
// same frames by shared memory, notes their stamps and gives them back at once.
type tap struct {
	sub     Subscription
	cancel  context.CancelFunc
	running sync.WaitGroup
	ready   map[int64]int64 // by the wall time of capture
}

// startTap returns nil where a stream has no shared memory here.
func (p Phase) startTap(ctx context.Context, w World) *tap {
	if p.Backend != negotiate.BackendCPU || p.NoTap || strings.HasPrefix(p.Stream, "/") {
		return nil
	}
	opts := append(append([]client.Option{}, p.Options...), client.WithAccept(negotiate.BackendSHM), client.WithCredit(1))
	sub, err := w.Subscribe(ctx, p.Stream, func(client.Event) {}, opts...)
	if err != nil {
		return nil
	}
	t := &tap{sub: sub, ready: make(map[int64]int64, p.Samples+p.Warmup)}
	ctx, t.cancel = context.WithCancel(ctx)
	t.running.Go(func() {
		for {
			f, err := sub.Next(ctx)
			if err != nil {
				return
			}
			if m := f.Meta(); m.WallNanos != 0 {
				t.ready[m.WallNanos] = m.ReadyNanos
			}
			f.Release()
		}
	})
	return t
}

// fill ends the tap and gives its stamps to the samples that lack them. It
// returns how many got one.
func (t *tap) fill(samples []Sample) (found int) {
	if t == nil {
		return 0
	}
	t.cancel()
	t.running.Wait()
	_ = t.sub.Close() // it holds no frame
	for i := range samples {
		s := &samples[i]
		if s.ReadyNanos != 0 {
			continue
		}
		if ready, ok := t.ready[s.wallNanos]; ok && s.wallNanos != 0 {
			s.ReadyNanos = ready
			found++
		}
	}
	return found
}
