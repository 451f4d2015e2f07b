// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const serial = "loading\r\n" +
		"=== RUN   TestOne\r\n    one_test.go:3: note\r\n--- PASS: TestOne (0.10s)\r\n" +
		"=== RUN   TestTwo\r\n=== RUN   TestTwo/part\r\n    two_test.go:9: wrong\r\n--- FAIL: TestTwo (0.00s)\r\n    --- FAIL: TestTwo/part (0.00s)\r\n" +
		"=== RUN   TestThree\r\n--- SKIP: TestThree (0.00s)\r\n" +
		"=== RUN   TestFour\r\nKernel panic\r\n"
	before, tests := parse(strings.NewReader(serial))
	if !slices.Equal(before, []string{"loading"}) {
		t.Errorf("before: %q", before)
	}
	var got []string
	for _, r := range tests {
		got = append(got, r.name+" "+r.status)
	}
	if want := []string{"TestOne PASS", "TestTwo FAIL", "TestThree SKIP", "TestFour "}; !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	if text := strings.Join(tests[1].output, "\n"); !strings.Contains(text, "two_test.go:9: wrong") || strings.Contains(text, "note") {
		t.Errorf("output of the second: %s", text)
	}
}
