// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// listen accepts connections until the test ends. What came of each goes to
// the channel.
func listen(t testing.TB, p Params) (endpoint link.Endpoint, accepted chan any) {
	t.Helper()
	e, err := link.ParseEndpoint("tcp/127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, err := link.Listen(ctx(t), e, nil)
	if err != nil {
		t.Fatal(err)
	}
	accepted = make(chan any)
	go func() {
		defer close(accepted)
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			c, err := l.Shake(context.Background(), nc)
			if err != nil {
				accepted <- err
				continue
			}
			bounded, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			tr, err := Accept(bounded, c, p, new(Pool))
			cancel()
			if err != nil {
				accepted <- err
			} else {
				accepted <- tr
			}
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		for range accepted { // until the goroutine has ended
		}
	})
	return l.Endpoint(), accepted
}

func peer(id byte) Params {
	p := Defaults()
	p.ZID, p.WhatAmI = wire.ZID{id, 1}, wire.Peer
	return p
}

func TestAccept(t *testing.T) {
	host := peer(1)
	host.Resolution, host.BatchSize = 1|1<<2, 9000
	host.Users = map[string]string{"alice": "secret"}
	e, accepted := listen(t, host)
	guest := peer(2)
	guest.User, guest.Password = "alice", "secret"
	guest.Lease = 7 * time.Second
	c, err := link.Dial(ctx(t), e, nil)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := Open(ctx(t), c, guest, new(Pool))
	if err != nil {
		t.Fatal(err)
	}
	theirs, ok := (<-accepted).(*Transport)
	if !ok {
		t.Fatal("not accepted")
	}
	for _, x := range []*Transport{ours, theirs} {
		if x.BatchSize() != 9000 || !x.QoS() || x.RemoteRole() != wire.Peer || x.s.mask != wire.SNMask(1) || !x.s.patch {
			t.Errorf("agreed on %+v", x.s)
		}
	}
	if theirs.Remote() != guest.ZID || theirs.RemoteLease() != guest.Lease || ours.Remote() != host.ZID || theirs.s.remoteSN != ours.s.sn || ours.s.remoteSN != theirs.s.sn {
		t.Errorf("accepted %+v, opened %+v", theirs.s, ours.s)
	}
	in := &inbox{got: make(chan wire.Push, 1)}
	ran := make(chan error, 2)
	go func() { ran <- theirs.Run(context.Background(), in) }()
	go func() { ran <- ours.Run(context.Background(), in) }()
	x := pair{t: ours}
	if err := x.send(t, "a", make([]byte, 100_000), nil); err != nil {
		t.Fatal(err)
	}
	if p := <-in.got; len(p.Data.Payload) != 100_000 {
		t.Errorf("%d bytes arrived", len(p.Data.Payload))
	}
	if err := ours.Close(ctx(t)); err != nil && !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := <-ran; err != nil && !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := <-ran; err != nil && !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// Who is turned away learns the reason, and costs the one who listens nothing
// but the time of the handshake.
func TestTurnedAway(t *testing.T) {
	host := peer(1)
	host.Users = map[string]string{"alice": "secret"}
	host.Admit = func(_ context.Context, o Other) error {
		if o.ZID == (wire.ZID{9, 1}) {
			return &Refusal{wire.MaxLinks, "there already"}
		}
		return nil
	}
	e, accepted := listen(t, host)
	good := func(change func(*wire.Init)) []byte {
		m := wire.Init{Version: wire.Version, WhatAmI: wire.Peer, ZID: wire.ZID{2, 1}, Resolution: wire.DefaultResolution, BatchSize: 65535, Auth: []byte{authOffer}}
		change(&m)
		return m.Append(nil)
	}
	for name, c := range map[string]struct {
		first  []byte
		then   func(a *wire.Init) []byte
		reason wire.Reason
		silent bool
	}{
		"other version": {first: good(func(m *wire.Init) { m.Version = 8 }), reason: wire.Invalid},
		"ourselves":     {first: good(func(m *wire.Init) { m.ZID = host.ZID }), reason: wire.ConnectionToSelf},
		"no role":       {first: good(func(m *wire.Init) { m.WhatAmI = 3 }), reason: wire.Invalid},
		"tiny batches":  {first: good(func(m *wire.Init) { m.BatchSize = 10 }), reason: wire.Invalid},
		"an answer":     {first: good(func(m *wire.Init) { m.Ack = true }), reason: wire.Invalid},
		"nobody":        {first: good(func(m *wire.Init) { m.Auth = nil }), reason: wire.Generic},
		"garbage":       {first: []byte("GET / HTTP/1.1\r\n\r\n"), silent: true},
		"nothing":       {silent: true},
		"other cookie":  {first: good(func(*wire.Init) {}), then: func(*wire.Init) []byte { return (&wire.Open{Cookie: []byte("camd")}).Append(nil) }, reason: wire.Invalid},
		"large number":  {first: good(func(*wire.Init) {}), then: func(a *wire.Init) []byte { return (&wire.Open{Cookie: a.Cookie, InitialSN: 1 << 40}).Append(nil) }, reason: wire.Invalid},
		"no proof":      {first: good(func(*wire.Init) {}), then: func(a *wire.Init) []byte { return (&wire.Open{Cookie: a.Cookie}).Append(nil) }, reason: wire.Generic},
		"half way":      {first: good(func(*wire.Init) {}), then: func(*wire.Init) []byte { return nil }, silent: true},
		"there already": {first: good(func(m *wire.Init) { m.ZID = wire.ZID{9, 1} }), then: func(a *wire.Init) []byte {
			ext, err := authAnswer(a.Auth, "alice", "secret")
			if err != nil {
				t.Error(err)
			}
			return (&wire.Open{Cookie: a.Cookie, LeaseMillis: 1000, Auth: ext}).Append(nil)
		}, reason: wire.MaxLinks},
	} {
		nc, err := net.Dial("tcp", e.Address)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := link.Dial(ctx(t), e, nil)
		_ = nc.Close()
		if got := <-accepted; got == nil {
			t.Fatal("the listener has ended")
		} else if _, is := got.(error); !is {
			t.Errorf("%s: who hung up was accepted", name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.first != nil {
			_ = writeBatch(conn, c.first)
		}
		if c.then != nil {
			var a wire.Init
			if err := readOne(conn, &a); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if b := c.then(&a); b != nil {
				_ = writeBatch(conn, b)
			}
		}
		if got := <-accepted; got == nil {
			t.Fatal("the listener has ended")
		} else if err, is := got.(error); !is {
			t.Errorf("%s was accepted", name)
		} else if !c.silent && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", name, err)
		}
		b, _ := io.ReadAll(conn)
		if want := (&wire.Close{Reason: c.reason}).Append([]byte{2, 0}); !c.silent && string(b) != string(want) {
			t.Errorf("%s was told %x, want %x", name, b, want)
		}
		_ = conn.Close()
	}
}
