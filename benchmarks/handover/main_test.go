// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(readerVariable) != "" { // the benchmark runs this binary again as its readers
		os.Exit(readerMain())
	}
	goleak.VerifyTestMain(m)
}
