// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"
)

// Import is one import declaration of the module.
type Import struct {
	File string // relative to the module
	Line int
	From string // importing package, relative to the module; "." is the root
	Path string // what is imported, in full
	Test bool   // in a _test file
}

// CheckImports holds imports against table and returns what breaks it, each as
// "file:line: what and why".
func CheckImports(table []Rule, imports []Import) []string {
	var bad []string
	for _, im := range imports {
		if problem := checkImport(table, im); problem != "" {
			bad = append(bad, fmt.Sprintf("%s:%d: %s", im.File, im.Line, problem))
		}
	}
	return bad
}

func checkImport(table []Rule, im Import) string {
	if im.Path == "C" {
		return `import "C": the project builds without a C compiler, libraries are opened through internal/dl`
	}
	from, ok := ruleOf(table, im.From)
	if !ok {
		return fmt.Sprintf("package %s has no room in the import table", im.From)
	}
	to, ours := relative(im.Path)
	if !ours || to == im.From || Room(to).in(from.Room) {
		return ""
	}
	target, ok := ruleOf(table, to)
	switch {
	case !ok:
		return fmt.Sprintf("imports %s, which has no room in the import table", to)
	case from.Top:
		return ""
	case target.Top:
		return fmt.Sprintf("package %s imports %s, which is above it", im.From, to)
	case im.Test:
		return "" // tests may use any part that is not above theirs
	case slices.ContainsFunc(from.May, Room(to).in):
		return ""
	}
	return fmt.Sprintf("package %s may not import %s, only %v", im.From, to, from.May)
}

// in reports whether the package named by r lies in room.
func (r Room) in(room Room) bool {
	base, below := strings.CutSuffix(string(room), "/...")
	return string(r) == base || below && strings.HasPrefix(string(r), base+"/")
}

// ruleOf finds the longest room that fits.
func ruleOf(table []Rule, pkg string) (Rule, bool) {
	best, found := Rule{}, false
	for _, r := range table {
		if Room(pkg).in(r.Room) && (!found || len(r.Room) > len(best.Room)) {
			best, found = r, true
		}
	}
	return best, found
}

// relative strips the module from an import path.
func relative(path string) (string, bool) {
	if path == Module {
		return ".", true
	}
	return strings.CutPrefix(path, Module+"/")
}
