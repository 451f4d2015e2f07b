// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"iter"
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
)

// index finds values by their key expressions without a look at all of them:
// for a key only those are compared that are equal to it, or that begin with
// chunks of it up to their first wildcard.
type index[T comparable] struct {
	exact map[string][]T          // without wildcard
	wild  map[string][]indexed[T] // by what comes before the first wildcard
}

// indexed is a value under a key expression with wildcards.
type indexed[T comparable] struct {
	key string
	v   T
}

// maxPrefix is how many chunks before the first wildcard count, so that a long
// key costs no more than a short one.
const maxPrefix = 16

// prefixes yields the starts of a key that an expression may be found under.
func prefixes(key string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield("") {
			return
		}
		from := 0
		for range maxPrefix {
			i := strings.IndexByte(key[from:], '/')
			if i < 0 {
				yield(key)
				return
			}
			if !yield(key[:from+i]) {
				return
			}
			from += i + 1
		}
	}
}

// prefix is what an expression with wildcards is found under: its whole chunks
// before the first of them, as many as count.
func prefix(expr string) string {
	last := ""
	fixed := expr[:strings.IndexByte(expr, '*')]
	for p := range prefixes(expr) {
		if len(p) >= len(fixed) {
			break
		}
		last = p
	}
	return last
}

func (x *index[T]) add(key string, v T) {
	if x.exact == nil {
		x.exact, x.wild = map[string][]T{}, map[string][]indexed[T]{}
	}
	if !keyexpr.IsWild(key) {
		x.exact[key] = append(x.exact[key], v)
		return
	}
	p := prefix(key)
	x.wild[p] = append(x.wild[p], indexed[T]{key, v})
}

func (x *index[T]) remove(key string, v T) {
	if !keyexpr.IsWild(key) {
		cut(x.exact, key, v)
	} else {
		cut(x.wild, prefix(key), indexed[T]{key, v})
	}
}

// cut takes v out of a list of m, which is in no order.
func cut[V comparable](m map[string][]V, key string, v V) {
	list := m[key]
	i := slices.Index(list, v)
	switch {
	case i < 0:
		return
	case len(list) == 1:
		delete(m, key)
		return
	}
	last := len(list) - 1
	list[i] = list[last]
	clear(list[last:])
	m[key] = list[:last]
}

// near yields the values whose expressions must be compared with key, and those.
func (x *index[T]) near(key string) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		each := func(list []indexed[T]) bool {
			for _, e := range list {
				if !yield(e.key, e.v) {
					return false
				}
			}
			return true
		}
		if keyexpr.IsWild(key) {
			for k, list := range x.exact {
				for _, v := range list {
					if !yield(k, v) {
						return
					}
				}
			}
			for _, list := range x.wild {
				if !each(list) {
					return
				}
			}
			return
		}
		for _, v := range x.exact[key] {
			if !yield(key, v) {
				return
			}
		}
		if len(x.wild) == 0 {
			return
		}
		for p := range prefixes(key) {
			if !each(x.wild[p]) {
				return
			}
		}
	}
}

// matching yields the values whose expressions share a key with key, and those.
func (x *index[T]) matching(key string) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for k, v := range x.near(key) {
			if keyexpr.Intersects(k, key) && !yield(k, v) {
				return
			}
		}
	}
}
