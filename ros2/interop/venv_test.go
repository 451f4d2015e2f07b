// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"testing"

	"github.com/seed-3c7e7623/camd/internal/venv"
)

// python returns an interpreter that has the packages that the tests talk to.
func python(t testing.TB) string {
	t.Helper()
	return venv.ROS2.Python(t)
}
