// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// Most tests wait most of the time, for nodes that start or are silent: more of
// them run at once than there are processors.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
