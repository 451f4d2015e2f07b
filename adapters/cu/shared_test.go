// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuframe

import (
	"errors"
	"testing"

	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Goroutines that share a context, each with a subscription, a stream and a kernel of
// its own, get whole frames, and none can close it below the others.
func TestShared(t *testing.T) {
	rules(t)
	dir := daemon(t)
	dev, err := gpu.Open()
	if err != nil {
		t.Fatal(err)
	}
	closes(t, dev.Close)
	const workers = 3
	var subs [workers]*gpu.Subscription
	for i := range subs {
		subs[i] = subscribe(t, dev, dir, []negotiate.Backend{cuda, shm}[i%2])
	}
	first := next(t, subs[0])
	c, err := Open(dev)
	if err != nil {
		t.Fatal(err)
	}
	closes(t, c.Close)
	s := stream(t, c)
	h, err := c.OnDevice(first, s) // held all the time
	if err != nil {
		t.Fatal(err)
	}
	t.Run("at once", func(t *testing.T) {
		for i, sub := range subs {
			own, kernel := stream(t, c), invert(t, c)
			t.Run(string(sub.Path().Backend), func(t *testing.T) {
				t.Parallel()
				for range 6 {
					if i == 0 {
						if err := c.Close(); !errors.Is(err, ErrInUse) {
							t.Errorf("closing beside work: %v", err)
						}
					}
					inverted(t, dev, sub, c, kernel, own)
				}
			})
		}
	})
	if err := h.UseOn(s); err != nil {
		t.Error(err)
	}
	if err := h.Release(); err != nil {
		t.Error(err)
	}
}
