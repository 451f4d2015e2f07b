// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckImports(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		im   Import
		want string // part of the complaint, "" for none
	}{
		{"standard library", Import{From: "frame", Path: "fmt"}, ""},
		{"other module", Import{From: "frame", Path: "golang.org/x/sys/unix"}, ""},
		{"other module with our prefix", Import{From: "frame", Path: Module + "x/ring"}, ""},
		{"allowed", Import{From: "ring", Path: Module + "/frame"}, ""},
		{"own subtree", Import{From: "capture", Path: Module + "/capture/v4l2"}, ""},
		{"from the subtree", Import{From: "capture/v4l2", Path: Module + "/capture"}, ""},
		{"into an allowed subtree", Import{From: "client", Path: Module + "/ros2/cdr"}, ""},
		{"below an allowed single package", Import{From: "cudabuf", Path: Module + "/ring/check"}, "may not import ring/check"},
		{"nothing below frame", Import{From: "frame", Path: Module + "/internal/linux"}, "may not import internal/linux"},
		{"ring knows no CUDA", Import{From: "ring", Path: Module + "/cudabuf"}, "may not import cudabuf"},
		{"zenoh stands alone", Import{From: "zenoh/link", Path: Module + "/frame"}, "may not import frame"},
		{"capture knows no ring", Import{From: "capture/replay", Path: Module + "/ring"}, "may not import ring"},
		{"clients know no backend", Import{From: "client", Path: Module + "/backend/shm"}, "may not import backend/shm"},
		{"client does not need a GPU", Import{From: "client", Path: Module + "/cudabuf"}, "may not import cudabuf"},
		{"client/gpu does", Import{From: "client/gpu", Path: Module + "/cudabuf"}, ""},
		{"top may import any", Import{From: "internal/daemon", Path: Module + "/backend/shm"}, ""},
		{"top may import top", Import{From: "cmd/camd", Path: Module + "/internal/cli"}, ""},
		{"not upwards", Import{From: "backend/shm", Path: Module + "/internal/daemon"}, "above it"},
		{"not upwards in tests", Import{From: "ring", Path: Module + "/internal/measure", Test: true}, "above it"},
		{"sideways in tests", Import{From: "ring", Path: Module + "/capture/pattern", Test: true}, ""},
		{"own package in its external test", Import{From: "ring", Path: Module + "/ring", Test: true}, ""},
		{"examples see what others see", Import{From: "examples/grab", Path: Module + "/internal/linux"}, "may not import internal/linux"},
		{"cgo", Import{From: "internal/dl", Path: "C"}, `import "C"`},
		{"cgo in a test", Import{From: "internal/dl", Path: "C", Test: true}, `import "C"`},
		{"package without a room", Import{From: "gadgets", Path: "fmt"}, "gadgets has no room"},
		{"internal package without a room", Import{From: "internal/util", Path: "fmt"}, "internal/util has no room"},
		{"importing a package without a room", Import{From: "client", Path: Module + "/gadgets"}, "gadgets, which has no room"},
		{"module root has no room", Import{From: ".", Path: "fmt"}, "package . has no room"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.im.File, c.im.Line = "x.go", 7
			got := CheckImports(Table, []Import{c.im})
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("complains: %s", got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
				t.Errorf("got %q, want one complaint with %q", got, c.want)
			case c.want != "" && !strings.HasPrefix(got[0], "x.go:7: "):
				t.Errorf("got %q, want the place first", got)
			}
		})
	}
}

// The rules on direct imports must amount to this: nothing below the top
// reaches a way out of the daemon, by any chain of allowed imports.
func TestTableKeepsBackendsAtTheTop(t *testing.T) {
	t.Parallel()
	for _, from := range Table {
		if from.Top || from.Room == "backend/..." {
			continue
		}
		if slices.ContainsFunc(reachable(from), func(r Room) bool { return strings.HasPrefix(string(r), "backend") }) {
			t.Errorf("%s reaches backend/...", from.Room)
		}
	}
}

func TestTableIsAcyclic(t *testing.T) {
	t.Parallel()
	for _, from := range Table {
		if slices.Contains(reachable(from), from.Room) {
			t.Errorf("%s reaches itself", from.Room)
		}
		for _, room := range from.May {
			if _, ok := ruleOf(Table, strings.TrimSuffix(string(room), "/...")); !ok {
				t.Errorf("%s may import %s, which is not in the table", from.Room, room)
			}
		}
	}
}

func reachable(from Rule) []Room {
	var out []Room
	next := slices.Clone(from.May)
	for len(next) > 0 {
		room := next[0]
		next = next[1:]
		if slices.Contains(out, room) {
			continue
		}
		out = append(out, room)
		if r, ok := ruleOf(Table, strings.TrimSuffix(string(room), "/...")); ok {
			next = append(next, r.May...)
		}
	}
	return out
}
