// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh"
)

// round waits until the node has handled what was declared before.
func round(t testing.TB, s *zenoh.Session) {
	t.Helper()
	if _, err := s.Liveliness(ctx(t), "round/trip"); err != nil {
		t.Fatal(err)
	}
}

// collect returns all replies as text, sorted.
func collect(t testing.TB, r *zenoh.Replies) (out []string, err error) {
	t.Helper()
	for {
		v, err := r.Receive(ctx(t))
		if errors.Is(err, io.EOF) {
			slices.Sort(out)
			return out, nil
		}
		if err != nil {
			return out, err
		}
		switch {
		case v.Err != nil:
			out = append(out, "error "+v.Err.Text)
		default:
			out = append(out, fmt.Sprintf("%v %s=%s", v.Kind, v.Key, v.Payload))
		}
		v.Release()
	}
}

func TestGetFromNode(t *testing.T) {
	each(t, func(t *testing.T, n *node, endpoint string) {
		s := client(t, endpoint)
		n.do(command{"op": "queryable", "name": "q", "key": "demo/q/**", "complete": true, "replies": []command{
			{"key": "demo/q/1", "text": "one"},
			{"key": "demo/q/2", "text": "two"},
			{"key": "demo/q/1", "text": "newer"},
			{"key": "demo/q/3", "delete": true},
			{"error": true, "text": "oops"},
		}}, "declared")
		for _, c := range []struct {
			mode zenoh.Consolidation
			want []string
		}{
			{zenoh.ConsolidationNone, []string{"DELETE demo/q/3=", "PUT demo/q/1=newer", "PUT demo/q/1=one", "PUT demo/q/2=two", "error oops"}},
			{zenoh.ConsolidationLatest, []string{"DELETE demo/q/3=", "PUT demo/q/1=newer", "PUT demo/q/2=two", "error oops"}},
		} {
			r, err := s.Get(ctx(t), "demo/q/**?a=1;b=2", &zenoh.GetOptions{
				Consolidation: c.mode, Target: zenoh.All, Payload: []byte("body"), Attachment: []byte("att"),
			})
			if err != nil {
				t.Fatal(err)
			}
			if q := n.want("query"); q.Key != "demo/q/**" || q.Parameters != "a=1;b=2" || q.Text != "body" || q.Attachment != "att" {
				t.Errorf("the node was asked %+v", q)
			}
			if got, err := collect(t, r); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("consolidation %d: %q, %v, want %q", c.mode, got, err, c.want)
			}
		}
		r, err := s.Get(ctx(t), "nobody/here", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := collect(t, r); err != nil || len(got) != 0 {
			t.Errorf("nobody answered %q, %v", got, err)
		}
	})
}

func TestQueryableForNode(t *testing.T) {
	each(t, func(t *testing.T, n *node, endpoint string) {
		s := client(t, endpoint)
		asked := make(chan string, 10)
		big := noise(200_000)
		_, err := s.Queryable("demo/g/**", &zenoh.QueryableOptions{Complete: true, Handler: zenoh.Handler[*zenoh.Query]{Callback: func(q *zenoh.Query) {
			asked <- fmt.Sprintf("%v %s %s", q, q.Payload, q.Attachment)
			bg := context.Background()
			err := errors.Join(
				q.Reply(bg, "demo/g/1", []byte("one"), &zenoh.ReplyOptions{Attachment: []byte("ra")}),
				q.Reply(bg, "demo/g/2", big, nil),
				q.ReplyDelete(bg, "demo/g/3", nil),
				q.ReplyErr(bg, []byte("went wrong"), zenoh.ParseEncoding("text/plain")),
			)
			if err != nil {
				t.Error(err)
			}
			if err := q.Reply(bg, "other/key", nil, nil); !errors.Is(err, zenoh.ErrKeyExpr) {
				t.Errorf("reply on a key that was not asked for: %v", err)
			}
		}}})
		if err != nil {
			t.Fatal(err)
		}
		round(t, s)
		n.tell(command{"op": "get", "key": "demo/g/*?x=y", "text": "ask", "attachment": "aa", "consolidation": "NONE"})
		got := map[string]event{}
		for e := n.next(); ; e = n.next() {
			got[e.Ev+e.Key] = e
			if e.Ev == "done" {
				break
			}
		}
		if q := <-asked; q != "demo/g/*?x=y ask aa" {
			t.Errorf("asked %q", q)
		}
		if e := got["replydemo/g/1"]; e.Text != "one" || e.Attachment != "ra" || e.Kind != "PUT" {
			t.Errorf("first reply %+v", e)
		}
		if e := got["replydemo/g/2"]; e.SHA256 != sum(big) {
			t.Errorf("large reply %+v", e)
		}
		if e := got["replydemo/g/3"]; e.Kind != "DELETE" {
			t.Errorf("deleting reply %+v", e)
		}
		if e := got["error"]; e.Text != "went wrong" {
			t.Errorf("error %+v", e)
		}
		if got["done"].Count != 4 {
			t.Errorf("%d replies, want 4", got["done"].Count)
		}
	})
}

// A query ends in time, when it is cancelled, and when the connection is lost.
func TestGetEndsEarly(t *testing.T) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			n, e := router(t, v)
			endsEarly(t, n, e)
		})
	}
}

func endsEarly(t *testing.T, n *node, e string) {
	a, b := client(t, e), client(t, e)
	kept := make(chan *zenoh.Query, 1)
	_, err := a.Queryable("slow", &zenoh.QueryableOptions{Handler: zenoh.Handler[*zenoh.Query]{Callback: func(q *zenoh.Query) {
		q.Keep()
		kept <- q
	}}})
	if err != nil {
		t.Fatal(err)
	}
	round(t, a)
	r, err := b.Get(ctx(t), "slow", &zenoh.GetOptions{Timeout: 700 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	q := <-kept
	if err := q.Reply(ctx(t), "slow", []byte("early"), nil); err != nil {
		t.Error(err)
	}
	got, err := collect(t, r)
	if !errors.Is(err, zenoh.ErrTimeout) || !slices.Equal(got, []string{"PUT slow=early"}) {
		t.Errorf("%q, %v, want the early reply and ErrTimeout", got, err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	cancelled, cancel := context.WithCancel(ctx(t))
	r, err = b.Get(cancelled, "slow", nil)
	if err != nil {
		t.Fatal(err)
	}
	q = <-kept
	cancel()
	if _, err := collect(t, r); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the cancellation", err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	// The node that holds a query dies: the one who asks hears it at once.
	r, err = b.Get(ctx(t), "slow", nil)
	if err != nil {
		t.Fatal(err)
	}
	<-kept
	n.kill()
	if _, err := collect(t, r); !errors.Is(err, zenoh.ErrNotConnected) {
		t.Errorf("%v, want ErrNotConnected", err)
	}
}
