// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh"
)

// With CAMD_RECORD=../testdata what real nodes say is written there, for the
// tests of the session that work without them: a batch a line, from OPEN on.
func TestRecord(t *testing.T) {
	dir := os.Getenv("CAMD_RECORD")
	if dir == "" {
		t.Skip("CAMD_RECORD is not set")
	}
	each(t, func(t *testing.T, n *node, endpoint string) {
		p := newProxy(t, strings.TrimPrefix(endpoint, "tcp/"))
		var mu sync.Mutex
		var text strings.Builder
		lines := 0
		f := func(_ *rand.Rand, b []byte, toUs bool, i int) []byte {
			mu.Lock()
			defer mu.Unlock()
			if toUs && i > 0 && lines < 100 {
				fmt.Fprintf(&text, "%x\n", b[2:])
				lines++
			}
			return b
		}
		p.change.Store(&f)
		c := quick(p.endpoint())
		c.Transport.BatchSize = 1024 // so that there are fragments
		s := open(t, c)
		// The same as in the tests there: it says what numbers of ours mean.
		_, errPub := s.Publisher("a/b/c", nil)
		_, errSub := s.Subscribe("**", &zenoh.SubscriberOptions{Handler: zenoh.Handler[zenoh.Sample]{Callback: func(zenoh.Sample) {}}})
		_, errQuery := s.Queryable("a/**", &zenoh.QueryableOptions{Handler: zenoh.Handler[*zenoh.Query]{Callback: func(*zenoh.Query) {}}})
		_, errLive := s.SubscribeLiveliness("**", &zenoh.LivelinessOptions{Handler: zenoh.Handler[zenoh.Sample]{Callback: func(zenoh.Sample) {}}})
		if err := errors.Join(errPub, errSub, errQuery, errLive); err != nil {
			t.Fatal(err)
		}
		n.do(command{"op": "sink", "name": "s", "key": "a/**", "reply": "a/q"}, "declared")
		n.tell(command{"op": "busy", "key": "a", "size": 3000})
		done := make(chan struct{})
		worked := make(chan struct{})
		go func() {
			defer close(worked)
			work(context.Background(), s, "a", done)
		}()
		look := time.NewTicker(5 * time.Millisecond)
		defer look.Stop()
		for full := false; !full; <-look.C {
			mu.Lock()
			full = lines == 100
			mu.Unlock()
		}
		close(done)
		<-worked
		n.do(command{"op": "rest"}, "busied")
		name := filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(t.Name(), "TestRecord/"), "/", "-")+".hex")
		if err := os.WriteFile(name, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	})
}
