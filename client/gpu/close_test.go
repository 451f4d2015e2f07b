// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"testing"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// The device stays open for subscriptions that package client made with it:
// their memory can be given back only while there is a context.
func TestCloseBelowPlainSubscriptions(t *testing.T) {
	for _, b := range []negotiate.Backend{cuda, shm} {
		t.Run(string(b), func(t *testing.T) {
			rules(t)
			d := newDaemon(t, b)
			dev := opened(t)
			s, err := client.Subscribe(bounded(t), "test/color", client.WithRuntimeDir(d.dir), client.WithDevice(dev), client.WithLogger(silent()))
			if err != nil {
				t.Fatal(err)
			}
			if err := dev.Close(); !errors.Is(err, ErrInUse) {
				t.Errorf("closing the device: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Whoever ends a subscription, all is given back once.
func TestCloseAtOnce(t *testing.T) {
	rules(t)
	d := newDaemon(t, cuda)
	dev := opened(t)
	s := d.subscribe(dev)
	f := next(t, s, d.publish())
	if _, err := f.OnDevice(newStream(t, dev)); err != nil {
		t.Fatal(err)
	}
	released(t, f)
	errs := make(chan error)
	for range 4 {
		go func() { errs <- s.Close() }()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if dev.subs != 0 {
		t.Errorf("%d subscriptions after one was closed", dev.subs)
	}
}
