// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cvmat

import (
	"github.com/seed-3c7e7623/camd/frame"

	"gocv.io/x/gocv"
)

// What tests outside of the package see of it.
var Memory = memory

// ToBGR is BGR of a frame that no client brought.
func ToBGR(g frame.Geometry, c frame.Color, data []byte, dst *gocv.Mat) error {
	return toBGR(g, c, data, dst)
}

// Direct is whether OpenCV converts it.
var Direct = direct

// LetGoForTests gives back the frames that are held for good.
func LetGoForTests() {
	leaks.Lock()
	defer leaks.Unlock()
	for _, r := range forever {
		r.letGo()
	}
	forever = nil
}
