// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"errors"
	"testing"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
)

// A session can be closed in each of its callbacks, in the goroutine of the
// network and in that of who puts; then nothing of it is left.
func TestCloseInCallback(t *testing.T) {
	bg := context.Background()
	for name, begin := range map[string]func(t *testing.T, a, b *Session, closing func()) error{
		"subscriber": func(t *testing.T, a, b *Session, closing func()) error {
			_, err := b.Subscribe("a/b", &SubscriberOptions{Handler: Handler[Sample]{Callback: func(Sample) { closing() }}})
			settled(t, a, b)
			return errors.Join(err, a.Put(bg, "a/b", nil, nil))
		},
		"subscriber, own put": func(_ *testing.T, _, b *Session, closing func()) error {
			_, err := b.Subscribe("a/b", &SubscriberOptions{Handler: Handler[Sample]{Callback: func(Sample) { closing() }}})
			p, why := b.Publisher("a/b", &PublisherOptions{Cache: 1})
			return errors.Join(err, why, p.Put(bg, nil, nil))
		},
		"queryable": func(t *testing.T, a, b *Session, closing func()) error {
			_, err := b.Queryable("a/b", &QueryableOptions{Handler: Handler[*Query]{Callback: func(*Query) { closing() }}})
			settled(t, a, b)
			_, why := a.Get(bg, "a/b", nil)
			return errors.Join(err, why)
		},
		"reply": func(t *testing.T, a, b *Session, closing func()) error {
			_, err := a.Queryable("a/b", &QueryableOptions{Handler: Handler[*Query]{Callback: func(q *Query) { _ = q.Reply(bg, q.Key, nil, nil) }}})
			settled(t, a, b)
			_, why := b.Get(bg, "a/b", &GetOptions{Handler: Handler[Reply]{Callback: func(Reply) { closing() }}})
			return errors.Join(err, why)
		},
		"matching": func(_ *testing.T, a, b *Session, closing func()) error {
			_, err := b.Publisher("a/b", &PublisherOptions{OnMatching: func(bool) { closing() }})
			_, why := a.Subscribe("a/b", nil)
			return errors.Join(err, why)
		},
		"liveliness": func(_ *testing.T, a, b *Session, closing func()) error {
			_, err := b.SubscribeLiveliness("a/b", &LivelinessOptions{Handler: Handler[Sample]{Callback: func(Sample) { closing() }}})
			_, why := a.Token("a/b")
			return errors.Join(err, why)
		},
		"release": func(t *testing.T, a, b *Session, closing func()) error {
			_, err := a.Subscribe("a/b", nil)
			settled(t, a, b)
			return errors.Join(err, b.Put(bg, "a/b", make([]byte, 1<<20), &PutOptions{Release: closing}))
		},
		"done": func(t *testing.T, a, b *Session, closing func()) error {
			_, err := a.Subscribe("a/b", nil)
			settled(t, a, b)
			return errors.Join(err, b.Put(bg, "a/b", []byte("x"), &PutOptions{Done: func(bool) { closing() }}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := opened(t, apart())
			b := opened(t, apart(at(a)))
			linked(t, 1, a, b)
			closed := make(chan error, 4)
			if err := begin(t, a, b, func() { closed <- b.Close(bg) }); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-closed:
				if err != nil {
					t.Error(err)
				}
			case <-bounded(t).Done():
				t.Fatal("closing never returned")
			}
			if err := b.Close(bounded(t)); err != nil {
				t.Errorf("closed again: %v", err)
			}
			select {
			case <-b.finished:
			default:
				t.Error("something is left of the session")
			}
		})
	}
}

// Closing ends with its context while a callback blocks, and goes on when that
// returns.
func TestCloseBlocked(t *testing.T) {
	a := opened(t, apart())
	b := opened(t, apart(at(a)))
	linked(t, 1, a, b)
	begun, hold := make(chan struct{}), make(chan struct{})
	if _, err := b.Subscribe("a/b", &SubscriberOptions{Handler: Handler[Sample]{Callback: func(Sample) {
		close(begun)
		<-hold
	}}}); err != nil {
		t.Fatal(err)
	}
	settled(t, a, b)
	if err := a.Put(bounded(t), "a/b", nil, nil); err != nil {
		t.Fatal(err)
	}
	<-begun
	enough := errors.New("enough")
	for range 2 {
		ctx, cancel := context.WithCancelCause(context.Background())
		closed := make(chan error)
		go func() { closed <- b.Close(ctx) }()
		eventually(t, "closing has begun", b.over.Load)
		cancel(enough)
		select {
		case err := <-closed:
			if !errors.Is(err, enough) {
				t.Errorf("closed with %v", err)
			}
		case <-bounded(t).Done():
			t.Fatal("closing ignores its context")
		}
	}
	close(hold)
	if err := b.Close(bounded(t)); err != nil {
		t.Error(err)
	}
}

// What a loop of tries would be for ends with ErrClosed once the session is
// closed, whether or not it was connected.
func TestUseAfterClose(t *testing.T) {
	l, err := fakenode.Listen()
	if err != nil {
		t.Fatal(err)
	}
	away := config.Client(l.Endpoint())
	away.Connect.ExitOnFailure, away.Connect.Timeout = false, 0
	_ = l.Close()
	connected, _ := joined(t, nil)
	for name, s := range map[string]*Session{"client": connected, "without node": opened(t, away), "peer": opened(t, apart())} {
		t.Run(name, func(t *testing.T) {
			bg := context.Background()
			p, err := s.Publisher("a/b", nil)
			if err != nil {
				t.Fatal(err)
			}
			racing := make(chan error)
			go func() {
				for {
					if err := p.Put(bg, []byte("x"), nil); err != nil && !errors.Is(err, ErrNotConnected) {
						racing <- err
						return
					}
				}
			}()
			if err := s.Close(bounded(t)); err != nil {
				t.Error(err)
			}
			select {
			case err := <-racing:
				if !errors.Is(err, ErrClosed) {
					t.Errorf("put in a race failed with %v", err)
				}
			case <-bounded(t).Done():
				t.Fatal("put in a race never learns of the end")
			}
			released := 0
			_, getErr := s.Get(bg, "a/b", nil)
			_, liveErr := s.Liveliness(bg, "a/b")
			for what, err := range map[string]error{
				"put":    s.Put(bg, "a/b", nil, &PutOptions{Release: func() { released++ }}),
				"delete": s.Delete(bg, "a/b", nil), "flush": s.Flush(bg), "publisher": p.Put(bg, nil, nil),
				"get": getErr, "liveliness": liveErr, "waiting": s.WaitConnected(bg), "key": s.DeclareKeyExpr("a/b"),
			} {
				if !errors.Is(err, ErrClosed) {
					t.Errorf("%s failed with %v", what, err)
				}
			}
			if released != 1 {
				t.Errorf("payload given back %d times", released)
			}
		})
	}
}
