// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"
)

func TestExplore(t *testing.T) {
	for _, f := range []int{1, 2, 3, 4, 0} {
		res, err := Run(t.Context(), Config{Frames: f, Credit: 1, Kills: true})
		t.Logf("%d: %+v", f, res)
		if err != nil {
			t.Fatal(err)
		}
	}
}
