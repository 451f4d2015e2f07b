// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// each runs a test against every version, as router and as peer; more are
// settings of the node.
func each(t *testing.T, test func(t *testing.T, n *node, endpoint string), more ...string) {
	for _, v := range versions {
		for _, mode := range []string{"router", "peer"} {
			t.Run(v+"/"+mode, func(t *testing.T) {
				t.Parallel()
				e := fmt.Sprintf("tcp/127.0.0.1:%d", proctest.Port(t))
				test(t, start(t, v, listening(mode, e, more...)), e)
			})
		}
	}
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = r.Read(b)
	return b
}

func TestPutToNode(t *testing.T) {
	each(t, func(t *testing.T, n *node, endpoint string) {
		s := client(t, endpoint)
		if i := s.Info(); i.Remote.String() != n.zid || !i.QoS {
			t.Errorf("connected to %v with QoS %v, want %s", i.Remote, i.QoS, n.zid)
		}
		n.do(command{"op": "sub", "name": "s", "key": "demo/**"}, "declared")
		stamp := s.Timestamp()
		err := s.Put(ctx(t), "demo/a", []byte("hello"), &zenoh.PutOptions{
			Encoding: zenoh.ParseEncoding("text/plain;utf-8"), Attachment: []byte("att"), Timestamp: stamp,
			QoS: zenoh.QoS{Priority: zenoh.PriorityRealTime, Congestion: zenoh.CongestionBlock, Express: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		e := n.want("sample")
		want := event{
			Ev: "sample", Key: "demo/a", Kind: "PUT", Encoding: "text/plain;utf-8", Priority: "REAL_TIME", Congestion: "BLOCK",
			Express: true, Attachment: "att", Text: "hello", Len: 5, SHA256: sum([]byte("hello")), Timestamp: e.Timestamp,
		}
		if fmt.Sprint(e) != fmt.Sprint(want) {
			t.Errorf("the node received\n %+v, want\n %+v", e, want)
		}
		if e.Timestamp == "" {
			t.Error("the timestamp was lost")
		}
		if err := s.Delete(ctx(t), "demo/b", &zenoh.PutOptions{Attachment: []byte("gone")}); err != nil {
			t.Fatal(err)
		}
		if e := n.want("sample"); e.Kind != "DELETE" || e.Key != "demo/b" || e.Attachment != "gone" || e.Priority != "DATA" || e.Congestion != "DROP" {
			t.Errorf("the node received %+v", e)
		}
		for _, size := range []int{0, 1, 1000, 65000, 66000, 300_000, 6 << 20} {
			b := noise(size)
			if err := s.Put(ctx(t), "demo/size", b, nil); err != nil {
				t.Fatal(err)
			}
			if e := n.want("sample"); e.Len != size || e.SHA256 != sum(b) {
				t.Errorf("%d bytes arrived as %d, %s", size, e.Len, e.SHA256)
			}
		}
	})
}

func TestPutFromNode(t *testing.T) {
	each(t, func(t *testing.T, n *node, endpoint string) {
		s := client(t, endpoint)
		sub, err := s.Subscribe("demo/**", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Liveliness(ctx(t), "none"); err != nil { // a round trip: the node knows the subscriber
			t.Fatal(err)
		}
		n.do(command{
			"op": "put", "key": "demo/x", "text": "hi", "encoding": "application/json", "attachment": "a1",
			"priority": "INTERACTIVE_LOW", "congestion": "BLOCK", "express": true,
		}, "put")
		got, err := sub.Receive(ctx(t))
		if err != nil {
			t.Fatal(err)
		}
		want := zenoh.QoS{Priority: zenoh.PriorityInteractiveLow, Congestion: zenoh.CongestionBlock, Express: true}
		if got.Key != "demo/x" || string(got.Payload) != "hi" || got.Encoding.String() != "application/json" ||
			string(got.Attachment) != "a1" || got.QoS != want || got.Kind != zenoh.Put {
			t.Errorf("received %+v", got)
		}
		n.do(command{"op": "delete", "key": "demo/y"}, "put")
		if got, err = sub.Receive(ctx(t)); err != nil || got.Kind != zenoh.Delete || got.Key != "demo/y" {
			t.Errorf("received %+v, %v", got, err)
		}
		for _, size := range []int{1, 65000, 66000, 300_000, 6 << 20} {
			e := n.do(command{"op": "put", "key": "demo/size", "size": size, "congestion": "BLOCK"}, "put")
			got, err := sub.Receive(ctx(t))
			if err != nil || len(got.Payload) != size || sum(got.Payload) != e.SHA256 {
				t.Errorf("%d bytes arrived as %d, %v", size, len(got.Payload), err)
			}
			got.Release()
		}
		// A publisher of the node declares its key: it comes as a number.
		n.publisher("p", "demo/declared")
		n.do(command{"op": "pubput", "name": "p", "text": "numbered"}, "put")
		if got, err := sub.Receive(ctx(t)); err != nil || got.Key != "demo/declared" || string(got.Payload) != "numbered" {
			t.Errorf("received %+v, %v", got, err)
		}
		if err := sub.Close(); err != nil {
			t.Error(err)
		}
		n.matching("p", false)
	})
}

// A key expression that was declared goes as a number, in samples and queries;
// also after the node was started anew.
func TestDeclaredKeys(t *testing.T) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			e := fmt.Sprintf("tcp/127.0.0.1:%d", proctest.Port(t))
			n := start(t, v, listening("router", e))
			p := newProxy(t, strings.TrimPrefix(e, "tcp/"))
			var text atomic.Bool
			const key = "declared/long/key"
			f := func(_ *rand.Rand, b []byte, toUs bool, _ int) []byte {
				r := wire.NewReader(b[2:])
				var fr wire.Frame
				if h, _ := r.Peek(); toUs || wire.ID(h) != wire.IDFrame || fr.Decode(r) != nil {
					return b
				}
				var m wire.Message
				for r.Len() > 0 && m.Decode(r) == nil {
					if m.ID == wire.IDPush && string(m.Push.Key.Suffix) == key || m.ID == wire.IDRequest && string(m.Request.Key.Suffix) == key {
						text.Store(true)
					}
				}
				return b
			}
			p.change.Store(&f)
			s := open(t, quick(p.endpoint()))
			if err := s.DeclareKeyExpr(key); err != nil {
				t.Fatal(err)
			}
			for round := range 2 {
				n.do(command{"op": "sub", "name": "s", "key": "declared/**"}, "declared")
				n.do(command{"op": "queryable", "name": "q", "key": key, "replies": []command{{"key": key, "text": "answer"}}}, "declared")
				if err := s.Put(ctx(t), key, []byte("x"), nil); err != nil {
					t.Fatal(err)
				}
				if e := n.want("sample"); e.Key != key || e.Text != "x" {
					t.Errorf("the node received %+v", e)
				}
				r, err := s.Get(ctx(t), key+"?a=b", nil)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := collect(t, r); err != nil || !slices.Equal(got, []string{"PUT " + key + "=answer"}) {
					t.Errorf("replies %q, %v", got, err)
				}
				if e := n.want("query"); e.Key != key || e.Parameters != "a=b" {
					t.Errorf("the node was asked %+v", e)
				}
				if round == 0 {
					n.kill()
					until(t, "lost", func() bool { return !s.Info().Connected })
					n = start(t, v, listening("router", e))
					if err := s.WaitConnected(ctx(t)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if text.Load() {
				t.Error("a sample or a query carried the text of the key")
			}
		})
	}
}
