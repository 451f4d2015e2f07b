// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
)

// The index finds what a comparison with everything finds, also after some has
// been taken out.
func TestIndexFindsWhatMatches(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	chunks := []string{"a", "b", "ab", "*", "**", "a$*", "$*b", "@a"}
	expr := func(n int) string {
		for {
			var c []string
			for range 1 + rnd.IntN(n) {
				c = append(c, chunks[rnd.IntN(len(chunks))])
			}
			if k, err := keyexpr.Canon(strings.Join(c, "/")); err == nil {
				return k
			}
		}
	}
	long := strings.Repeat("a/", 2*maxPrefix)
	var x index[int]
	all := map[int]string{}
	for i := range 2000 {
		k := expr(4)
		if i%50 == 0 {
			k = long + k
		}
		x.add(k, i)
		all[i] = k
		if old, ok := all[i-7]; ok && i%3 == 0 {
			x.remove(old, i-7)
			delete(all, i-7)
		}
	}
	for i := range 1000 {
		key := expr(5)
		if i%50 == 0 {
			key = long + key
		}
		want, got := map[int]string{}, map[int]string{}
		for v, k := range all {
			if keyexpr.Intersects(k, key) {
				want[v] = k
			}
		}
		for k, v := range x.matching(key) {
			got[v] = k
		}
		if !maps.Equal(got, want) {
			t.Fatalf("%q matches %v, want %v", key, got, want)
		}
	}
	for v, k := range all {
		x.remove(k, v)
	}
	if len(x.exact) != 0 || len(x.wild) != 0 {
		t.Errorf("%d and %d lists are left of an empty index", len(x.exact), len(x.wild))
	}
}

// Of thousands of declarations a sample is compared with those alone that may
// match, and keys that came before are compared with none and cost no memory.
func TestMatchingIsNotLinear(t *testing.T) {
	s, _ := joined(t, nil)
	got := 0
	o := &SubscriberOptions{Origin: LocalitySession, Handler: Handler[Sample]{Callback: func(Sample) { got++ }}}
	const n = 1000
	for i := range n {
		for _, k := range []string{"many/%d/*/x", "many/%d/q/x", "many/%d/**"} {
			if _, err := s.Subscribe(fmt.Sprintf(k, i), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	compared := 0
	for i := range n {
		key := fmt.Sprintf("many/%d/q/x", i)
		for range s.subsAt.near(key) {
			compared++
		}
		if err := s.Put(bounded(t), key, nil, &PutOptions{Destination: LocalitySession}); err != nil {
			t.Fatal(err)
		}
	}
	if got != 3*n || compared != 3*n {
		t.Errorf("%d samples after %d comparisons, want %d of both", got, compared, 3*n)
	}
	if err := s.DeclareKeyExpr("many/5/q/x"); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"many/5/q/x", "many/6/q/x", "nobody/7"} {
		first := s.route(key)
		bg, o := context.Background(), &PutOptions{Destination: LocalitySession}
		if a := testing.AllocsPerRun(100, func() { _ = s.Put(bg, key, nil, o) }); a > 0 {
			t.Errorf("%s: %v allocations a put", key, a)
		}
		if s.route(key) != first {
			t.Errorf("%s: its route is not remembered", key)
		}
	}
}

// A key that is declared goes out short from then on, also where its route was
// known before.
func TestDeclaredKeys(t *testing.T) {
	s, _ := joined(t, nil)
	if s.route("a/b").wire.Scope != 0 {
		t.Error("a key that was not declared goes out as a number")
	}
	for i := range 2 * maxRoutes {
		if err := s.DeclareKeyExpr(fmt.Sprintf("a/%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if a := testing.AllocsPerRun(10, func() { _ = s.DeclareKeyExpr("a/0") }); a > 0 {
		t.Errorf("declaring a key again costs %v allocations", a)
	}
	if err := s.DeclareKeyExpr("a/b"); err != nil {
		t.Fatal(err)
	}
	if w := s.route("a/b").wire; w.Scope != 2*maxRoutes+1 || len(w.Suffix) != 0 {
		t.Errorf("a declared key goes out as %+v", w)
	}
}
