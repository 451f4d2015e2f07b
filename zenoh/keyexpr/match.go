// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package keyexpr

import "strings"

// Intersects says whether a key exists that both expressions match. Both must
// be valid. The worst case of its time is the product of the lengths.
func Intersects(a, b string) bool {
	if a == b {
		return true
	}
	if !IsWild(a) && !IsWild(b) {
		return false
	}
	a, b, ok := strip(a, b)
	return ok && table(a, b, intersects)
}

// strip takes away the chunks without wildcards that both begin with; false:
// they differ in one, and so share no key.
func strip(a, b string) (string, string, bool) {
	for {
		i, j := strings.IndexByte(a, '/'), strings.IndexByte(b, '/')
		if i < 0 || j < 0 || IsWild(a[:i]) || IsWild(b[:j]) {
			return a, b, true
		}
		if a[:i] != b[:j] {
			return a, b, false
		}
		a, b = a[i+1:], b[j+1:]
	}
}

// Includes says whether a matches every key that b matches. Both must be
// valid.
func Includes(a, b string) bool {
	if a == b {
		return true
	}
	if !IsWild(a) {
		return false
	}
	return table(a, b, includes)
}

// A rule says from which neighbours the answer for two lists follows, given
// their first chunks: skipA drops the head of the first list, skipB that of the
// second, both drops both.
type rule func(a, b string) (skipA, skipB, both bool)

func intersects(a, b string) (skipA, skipB, both bool) {
	if a == "**" {
		skipA, skipB = true, !verbatim(b)
	}
	if b == "**" {
		skipB, skipA = true, skipA || !verbatim(a)
	}
	if a != "**" && b != "**" {
		both = chunksIntersect(a, b)
	}
	return skipA, skipB, both
}

func includes(a, b string) (skipA, skipB, both bool) {
	if a == "**" {
		return true, !verbatim(b), false
	}
	return false, false, b != "**" && chunkIncludes(a, b)
}

// table answers for all pairs of remainders, from the ends to the starts.
// Rows are remainders of b, so that one row of answers is kept.
func table(a, b string, r rule) bool {
	var store [64]bool
	n := strings.Count(a, "/") + 1
	row := store[:]
	if n >= len(row) {
		row = make([]bool, n+1)
	}
	row = row[:n+1]
	// row[i]: the last i chunks of a against no chunk of b.
	row[0] = true
	for i, rest := 1, a; i <= n; i++ {
		var chunk string
		rest, chunk = cutLast(rest)
		row[i] = row[i-1] && chunk == "**"
	}
	for restB, moreB := b, true; moreB; {
		var cb string
		moreB = strings.IndexByte(restB, '/') >= 0
		restB, cb = cutLast(restB)
		diagonal := row[0] // [i-1] of the row before
		_, skipB, _ := r("", cb)
		row[0] = diagonal && cb == "**" && skipB
		for i, restA := 1, a; i <= n; i++ {
			var ca string
			restA, ca = cutLast(restA)
			skipA, skipB, both := r(ca, cb)
			v := skipA && row[i-1] || skipB && row[i] || both && diagonal
			diagonal, row[i] = row[i], v
		}
	}
	return row[n]
}

func cutLast(s string) (rest, chunk string) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return "", s
	}
	return s[:i], s[i+1:]
}

func chunksIntersect(a, b string) bool {
	switch {
	case a == b:
		return true
	case verbatim(a) || verbatim(b):
		return false
	case a == "*" || b == "*":
		return true
	case !IsWild(a) && !IsWild(b):
		return false
	}
	return subIntersect(a, b)
}

// anyRun stands for "$*" among the bytes of a chunk: no byte of UTF-8.
const anyRun = 0xFF

func tokens(b []byte, chunk string) []byte {
	for i := 0; i < len(chunk); i++ {
		c := chunk[i]
		if c == '$' {
			c = anyRun
			i++
		}
		b = append(b, c)
	}
	return b
}

// subIntersect compares two chunks of which at least one has "$*". Like table
// it goes from the ends to the starts, so that no input makes it slow.
func subIntersect(a, b string) bool {
	var storeA, storeB [64]byte
	var store [65]bool
	ta, tb := tokens(storeA[:0], a), tokens(storeB[:0], b)
	row := store[:]
	if len(ta) >= len(row) {
		row = make([]bool, len(ta)+1)
	}
	row = row[:len(ta)+1] // row[i]: the last i of ta against what was seen of tb
	row[0] = true
	for i := 1; i < len(row); i++ {
		row[i] = row[i-1] && ta[len(ta)-i] == anyRun
	}
	for j := range tb {
		cb := tb[len(tb)-1-j]
		diagonal := row[0]
		row[0] = diagonal && cb == anyRun
		for i := 1; i < len(row); i++ {
			ca, old := ta[len(ta)-i], row[i]
			if ca == anyRun || cb == anyRun {
				row[i] = row[i-1] || old // one side's run ends, or takes a character
			} else {
				row[i] = ca == cb && diagonal
			}
			diagonal = old
		}
	}
	return row[len(ta)]
}

func chunkIncludes(a, b string) bool {
	switch {
	case a == b:
		return true
	case verbatim(a) || verbatim(b):
		return false
	case a == "*":
		return true
	case b == "*" || !IsWild(a):
		return false
	}
	// The literal pieces of a must be found in b in order, first and last at
	// the ends; "$*" of b is a character that no literal matches.
	first, rest, _ := strings.Cut(a, "$*")
	if !strings.HasPrefix(b, first) {
		return false
	}
	b = b[len(first):]
	for {
		piece, after, more := strings.Cut(rest, "$*")
		if !more {
			return strings.HasSuffix(b, piece)
		}
		i := strings.Index(b, piece)
		if i < 0 {
			return false
		}
		b, rest = b[i+len(piece):], after
	}
}
