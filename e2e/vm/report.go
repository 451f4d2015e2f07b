// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"bufio"
	"io"
	"strings"
)

// result is a test of the guest, with what it said.
type result struct {
	name   string
	status string // "PASS", "FAIL", "SKIP"; "" = it did not end
	output []string
}

// parse reads the output of a test binary with -test.v: one result for each
// test, none for subtests, whose lines go to the test. Lines before the first
// test are returned too.
func parse(serial io.Reader) (before []string, tests []*result) {
	lines := bufio.NewScanner(serial)
	lines.Buffer(nil, 1<<20)
	var current *result
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), "\r")
		if name, ok := strings.CutPrefix(line, "=== RUN   "); ok && !strings.Contains(name, "/") {
			current = &result{name: name}
			tests = append(tests, current)
			continue
		}
		if current == nil {
			before = append(before, line)
			continue
		}
		if rest, ok := strings.CutPrefix(line, "--- "); ok {
			status, name, _ := strings.Cut(rest, ": ")
			if n, _, _ := strings.Cut(name, " "); n == current.name {
				current.status = status
			}
		}
		current.output = append(current.output, line)
	}
	return before, tests
}
