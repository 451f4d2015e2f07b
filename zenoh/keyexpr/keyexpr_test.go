// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package keyexpr

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestCanon(t *testing.T) {
	for in, want := range map[string]string{
		"a":                 "a",
		"a/b/c":             "a/b/c",
		"**":                "**",
		"**/**":             "**",
		"a/**/**/b":         "a/**/b",
		"**/*":              "*/**",
		"**/*/*/b":          "*/*/**/b",
		"a/**/*/**/*/**":    "a/*/*/**",
		"$*":                "*",
		"a/$*/b":            "a/*/b",
		"$*$*$*":            "*",
		"a$*$*$*b":          "a$*b",
		"**/$*":             "*/**",
		"@adv/pub/**":       "@adv/pub/**",
		"é/日本/$*x":          "é/日本/$*x",
		"0/rt/chatter/x::y": "0/rt/chatter/x::y",
	} {
		got, err := Canon(in)
		if err != nil || got != want {
			t.Errorf("Canon(%q) = %q, %v, want %q", in, got, err, want)
		}
		if err := Validate(in); (err == nil) != (in == want) {
			t.Errorf("Validate(%q): %v", in, err)
		}
	}
	for _, bad := range []string{
		"", "/", "/a", "a/", "a//b", "a#b", "a?b", "a*", "*a", "***", "a/**b", "$", "a$", "a$b", "$$*", "$**", "a/\xff", strings.Repeat("a", MaxLen+1),
	} {
		if got, err := Canon(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("Canon(%.20q) = %.20q, %v, want ErrInvalid", bad, got, err)
		}
	}
}

func TestRelations(t *testing.T) {
	for _, c := range []struct {
		a, b                 string
		intersects, includes bool
	}{
		{"a", "a", true, true},
		{"a", "b", false, false},
		{"a/b", "a", false, false},
		{"*", "a", true, true},
		{"*", "a/b", false, false},
		{"a", "*", true, false},
		{"**", "a/b", true, true},
		{"a/**", "a", true, true},
		{"a/**", "a/b/c", true, true},
		{"a/**", "a/@x/b", false, false},
		{"a/@x/**", "a/@x/b", true, true},
		{"**", "@adv/pub", false, false},
		{"*", "@a", false, false},
		{"@a", "@a", true, true},
		{"@$*", "@ab", false, false},
		{"a/*/c", "a/$*b/c", true, true},
		{"a/**/z", "**/z", true, false},
		{"**/z", "a/**/z", true, true},
		{"ab$*", "ab", true, true},
		{"$*b", "ab", true, true},
		{"a$*c", "abbc", true, true},
		{"a$*c", "abbd", false, false},
		{"a$*", "$*b", true, false},
		{"a$*b", "a$*b$*b", true, true},
		{"a$*b$*c", "aXbYbZc", true, true},
		{"a$*b$*c", "acb", false, false},
		{"$*ab$*", "aab", true, true},
		{"a/**/b/**/c", "a/b/c", true, true},
		{"a/**/b/**/c", "a/x/b/y/b/c", true, true},
		{"a/**/b/**/c", "a/x/c", false, false},
		{"**/a/**", "**/b/**", true, false},
		{"*/**", "**", true, false},
		{"**", "*/**", true, true},
		{"**", "**", true, true},
		{"**/@x/**", "a/@x", true, true},
		{"**/@x/**", "a/@y", false, false},
		{"**/@x", "@x", true, true},
		{"a/**", "**/@x", false, false},
	} {
		if got := Intersects(c.a, c.b); got != c.intersects {
			t.Errorf("Intersects(%q, %q) = %v", c.a, c.b, got)
		}
		if a, b := Intersects(c.a, c.b), Intersects(c.b, c.a); a != b {
			t.Errorf("Intersects(%q, %q) = %v, the other way %v", c.a, c.b, a, b)
		}
		if got := Includes(c.a, c.b); got != c.includes {
			t.Errorf("Includes(%q, %q) = %v", c.a, c.b, got)
		}
	}
}

// randomExpr makes a canonical expression over a small alphabet, so that
// expressions meet often.
func randomExpr(r *rand.Rand) string {
	for {
		n := 1 + r.IntN(4)
		parts := make([]string, n)
		for i := range parts {
			parts[i] = []string{"a", "b", "ab", "@a", "*", "**", "a$*", "$*b", "a$*b", "$*a$*"}[r.IntN(10)]
		}
		if s, err := Canon(strings.Join(parts, "/")); err == nil {
			return s
		}
	}
}

// keys lists every key of up to three chunks over the alphabet of randomExpr,
// with a letter more.
func keys() []string {
	chunks := []string{"a", "b", "ab", "ba", "aab", "abb", "c", "@a"}
	out := append([]string(nil), chunks...)
	for from, n := 0, 0; n < 2; n++ {
		end := len(out)
		for _, k := range out[from:end] {
			for _, c := range chunks {
				out = append(out, k+"/"+c)
			}
		}
		from = end
	}
	return out
}

// naive matches a key by trying everything.
func naive(expr, key []string) bool {
	if len(expr) == 0 {
		return len(key) == 0
	}
	if expr[0] == "**" {
		return naive(expr[1:], key) || len(key) > 0 && key[0][0] != '@' && naive(expr, key[1:])
	}
	return len(key) > 0 && naiveChunk(expr[0], key[0]) && naive(expr[1:], key[1:])
}

func naiveChunk(e, k string) bool {
	if e == k {
		return true
	}
	if e[0] == '@' || k[0] == '@' {
		return false
	}
	return e == "*" || naiveRun(e, k)
}

func naiveRun(e, k string) bool {
	if e == "" {
		return k == ""
	}
	if strings.HasPrefix(e, "$*") {
		return naiveRun(e[2:], k) || k != "" && naiveRun(e, k[1:])
	}
	return k != "" && e[0] == k[0] && naiveRun(e[1:], k[1:])
}

// The relations against their definition on every key of a finite set.
func TestRelationsAgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := keys()
	split := make([][]string, len(all))
	for i, k := range all {
		split[i] = strings.Split(k, "/")
	}
	matches := map[string][]bool{}
	match := func(e string) []bool {
		m, ok := matches[e]
		if !ok {
			parts := strings.Split(e, "/")
			m = make([]bool, len(all))
			for i := range all {
				m[i] = naive(parts, split[i])
				if got := Includes(e, all[i]); got != m[i] {
					t.Fatalf("Includes(%q, %q) = %v", e, all[i], got)
				}
				if got := Intersects(e, all[i]); got != m[i] {
					t.Fatalf("Intersects(%q, %q) = %v", e, all[i], got)
				}
			}
			matches[e] = m
		}
		return m
	}
	met, held := 0, 0
	for range 700 {
		a, b := randomExpr(r), randomExpr(r)
		ma, mb := match(a), match(b)
		common, missing := false, false
		for i := range all {
			common = common || ma[i] && mb[i]
			missing = missing || mb[i] && !ma[i]
		}
		if common {
			met++
			if !Intersects(a, b) || !Intersects(b, a) {
				t.Fatalf("%q and %q share a key", a, b)
			}
		}
		if Includes(a, b) {
			held++
			if missing || !Intersects(a, b) {
				t.Fatalf("%q does not include %q", a, b)
			}
		}
	}
	if met < 70 || held < 20 {
		t.Errorf("only %d pairs met and %d included: the test tests little", met, held)
	}
}

func TestHostileExpressionsAreCheap(t *testing.T) {
	a := strings.Repeat("$*a", 2000) + "$*"
	b := strings.Repeat("ab", 2000)
	if Intersects(a, b+"/x") || !Intersects(a, b) || !Includes(a, b) {
		t.Error("a chunk of many runs")
	}
	c := strings.Repeat("**/a/", 300) + "**"
	if !Intersects(c, strings.Repeat("a/", 600)+"a") || Includes(c, strings.Repeat("a/", 200)+"a") {
		t.Error("a list of many wildcards")
	}
}

func FuzzRelations(f *testing.F) {
	f.Add("a/**", "a/$*b/c")
	f.Add("**/@x/*", "a$*/@x/b")
	f.Fuzz(func(t *testing.T, a, b string) {
		ca, errA := Canon(a)
		cb, errB := Canon(b)
		if errA != nil || errB != nil || len(a) > 200 || len(b) > 200 {
			return
		}
		if again, err := Canon(ca); err != nil || again != ca {
			t.Fatalf("%q became %q and then %q, %v", a, ca, again, err)
		}
		if !Includes(ca, ca) || !Intersects(ca, ca) {
			t.Fatalf("%q and itself", ca)
		}
		if Intersects(ca, cb) != Intersects(cb, ca) {
			t.Fatalf("%q and %q: not symmetric", ca, cb)
		}
		if Includes(ca, cb) && !Intersects(ca, cb) {
			t.Fatalf("%q includes %q but they share nothing", ca, cb)
		}
		if Includes(ca, cb) && Includes(cb, ca) && ca != cb {
			t.Logf("%q and %q are the same set", ca, cb)
		}
	})
}
