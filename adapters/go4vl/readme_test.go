// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package go4vl_test

import (
	"os"
	"strings"
	"testing"
)

// The README shows the example as it is built.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("example/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, ok := strings.Cut(string(program), "Apache-2.0\n\n")
	if !ok || !strings.Contains(string(readme), "```go\n"+body+"```\n") {
		t.Error("the example in README.md is not example/main.go")
	}
}
