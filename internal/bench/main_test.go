// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// partVariable makes this test binary a process of a sweep.
const partVariable = "CAMD_BENCH_TEST_PART"

func TestMain(m *testing.M) {
	if os.Getenv(partVariable) != "" {
		if err := ServePart(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
