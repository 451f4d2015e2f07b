// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	comments   = regexp.MustCompile(`(?s)/\*.*?\*/`)
	structures = regexp.MustCompile(`(?s)typedef struct (camd_\w+) \{(.*?)\} camd_\w+;`)
	declared   = regexp.MustCompile(`^((?:const )?\w+) (.+)$`)
	declarator = regexp.MustCompile(`^(\*?)(\w+)(?:\[(\w+)\])?$`)
)

// headerLayout lays the structures of camd.h out as compilers for Linux on amd64
// and arm64 do: each member at the next multiple of its alignment.
func headerLayout(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../camd.h")
	if err != nil {
		t.Fatal(err)
	}
	type kind struct{ size, align int }
	kinds := map[string]kind{
		"int": {4, 4}, "unsigned": {4, 4}, "uint32_t": {4, 4}, "uint64_t": {8, 8}, "int64_t": {8, 8}, "size_t": {8, 8},
		"char": {1, 1}, "uint8_t": {1, 1},
	}
	var out strings.Builder
	found := structures.FindAllStringSubmatch(comments.ReplaceAllString(string(text), ""), -1)
	if len(found) != 4 {
		t.Fatalf("camd.h has %d structures with members", len(found))
	}
	for _, s := range found {
		var whole kind
		for line := range strings.SplitSeq(strings.TrimSpace(s[2]), ";") {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			d := declared.FindStringSubmatch(line)
			if d == nil {
				t.Fatalf("%s: %q", s[1], line)
			}
			for name := range strings.SplitSeq(d[2], ", ") {
				m := declarator.FindStringSubmatch(name)
				if m == nil {
					t.Fatalf("%s: %q", s[1], line)
				}
				k, ok := kinds[strings.TrimPrefix(d[1], "const ")]
				if m[1] == "*" {
					k, ok = kind{8, 8}, true
				}
				n := 1
				switch {
				case m[3] == "CAMD_MAX_PLANES":
					n = 4
				case m[3] != "":
					n, err = strconv.Atoi(m[3])
				}
				if !ok || err != nil {
					t.Fatalf("%s: %q", s[1], line)
				}
				whole.size = (whole.size + k.align - 1) / k.align * k.align
				fmt.Fprintf(&out, "%s.%s %d %d\n", s[1], m[2], whole.size, k.size*n)
				whole.size += k.size * n
				whole.align = max(whole.align, k.align)
			}
		}
		whole.size = (whole.size + whole.align - 1) / whole.align * whole.align
		kinds[s[1]] = whole
		fmt.Fprintf(&out, "%s 0 %d\n", s[1], whole.size)
	}
	return out.String()
}

// What bindings of other languages are told is what the header says, and all of it.
func TestLayoutForBindings(t *testing.T) {
	if got, want := output(t, "", programs(t).selftest, "members"), headerLayout(t); got != want {
		t.Errorf("camd_layout says\n%s\ncamd.h says\n%s", got, want)
	}
}
