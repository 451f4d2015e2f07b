// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cvmat

import (
	"fmt"
	"math"

	"gocv.io/x/gocv"
)

// ColorDepth makes a picture of distances, 8-bit BGR, in one pass: red is near
// metres and nearer, blue far metres and farther (the colours of Turbo), black is
// no data: 0, negative, infinite and NaN. depth is 16UC1 in millimetres or 32FC1
// in metres; for units of another size scale near and far. It fails with
// [ErrDepth].
func ColorDepth(depth gocv.Mat, dst *gocv.Mat, near, far float64) error {
	if t := depth.Type(); t != gocv.MatTypeCV16UC1 && t != gocv.MatTypeCV32FC1 || depth.Empty() {
		return fmt.Errorf("%w: a Mat of type %d and size %v: 16UC1 and 32FC1 are distances", ErrDepth, t, depth.Size())
	}
	if !(near >= 0 && far > near) || math.IsInf(far, 1) {
		return fmt.Errorf("%w: from %g m to %g m", ErrDepth, near, far)
	}
	return colorDepth(depth, dst, near, far)
}
