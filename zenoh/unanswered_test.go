// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"errors"
	"testing"
)

// Who did not answer in time is named, and what others answered stands; and a
// sample says which peer sent it.
func TestUnanswered(t *testing.T) {
	quick, mute := opened(t, apart()), opened(t, apart())
	s := opened(t, apart(at(quick), at(mute)))
	answered := make(chan struct{})
	for _, x := range []struct {
		s    *Session
		call func(q *Query)
	}{
		{quick, func(q *Query) { _ = q.Reply(context.Background(), q.Key, []byte("here"), nil) }},
		{mute, func(q *Query) { q.Keep() }},
	} {
		if _, err := x.s.Queryable("a/key", &QueryableOptions{Handler: Handler[*Query]{Callback: x.call}}); err != nil {
			t.Fatal(err)
		}
	}
	sub, err := s.Subscribe("from/*", nil)
	if err != nil {
		t.Fatal(err)
	}
	linked(t, 2, s)
	settled(t, s, quick, mute)
	ctx, cancel := context.WithCancelCause(bounded(t))
	defer cancel(nil)
	r, err := s.Get(ctx, "a/key", &GetOptions{Target: All, Consolidation: ConsolidationNone, Handler: Handler[Reply]{Callback: func(v Reply) {
		if string(v.Payload) == "here" && v.Replier == quick.ZID() {
			close(answered)
		}
		v.Release()
	}}})
	if err != nil {
		t.Fatal(err)
	}
	<-answered
	eventually(t, "the one has ended", func() bool { r.mu.Lock(); defer r.mu.Unlock(); return len(r.faces) == 1 })
	over := errors.New("no more time")
	cancel(over)
	<-r.Done()
	var u *Unanswered
	if err := r.Err(); !errors.As(err, &u) || !errors.Is(err, over) || len(u.By) != 1 || u.By[0].Remote != mute.ZID() {
		t.Errorf("%v: %+v", err, u)
	}
	if err := quick.Put(bounded(t), "from/quick", []byte("x"), nil); err != nil {
		t.Fatal(err)
	}
	v, err := sub.Receive(bounded(t))
	if err != nil || v.Peer != quick.ZID() {
		t.Errorf("%v of %v: %v", v.Key, v.Peer, err)
	}
	for _, l := range s.Info().Links {
		if !l.Told {
			t.Errorf("%+v", l)
		}
	}
}
