// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package calib

import (
	"fmt"
	"slices"
)

// Scale returns the calibration for pictures of another size of the same view:
// scaled by one factor, or cut off at the right and lower edge where a factor
// leaves a remainder, as streams with downscale are. Pixel centres are at whole
// numbers, so a square of s pixels is shown by a pixel whose centre lies (s-1)/2
// further: cx' = (cx - (s-1)/2) / s. (Readers that divide by the binning of a
// CameraInfo leave this half pixel out; a scaled calibration has no binning.)
// Coefficients of distortion and the rectification hold for every size. It
// fails with [ErrSize] where the shape is another: nothing says which part of
// the view is shown then.
func (c Calibration) Scale(width, height int) (Calibration, error) {
	if width == c.Width && height == c.Height {
		return c, nil
	}
	sx, sy, ok := factors(c.Width, c.Height, width, height)
	if !ok {
		return Calibration{}, fmt.Errorf("%w: %dx%d, the pictures are %dx%d, which is another shape", ErrSize, c.Width, c.Height, width, height)
	}
	out := c
	out.Width, out.Height, out.D = width, height, slices.Clone(c.D)
	if c.Calibrated() {
		scaleRows(out.K[:], 3, sx, sy)
		scaleRows(out.P[:], 4, sx, sy)
	}
	return out, nil
}

// factors are by how much both sides are divided.
func factors(fromW, fromH, toW, toH int) (sx, sy float64, ok bool) {
	if fromW < 1 || fromH < 1 || toW < 1 || toH < 1 {
		return 0, 0, false
	}
	if n := fromW / toW; n > 1 && fromW/n == toW && fromH/n == toH {
		return float64(n), float64(n), true
	}
	// One pixel is what rounding to whole ones can make.
	difference := fromW*toH - fromH*toW
	if difference < 0 {
		difference = -difference
	}
	if difference > max(fromW, fromH) {
		return 0, 0, false
	}
	return float64(fromW) / float64(toW), float64(fromH) / float64(toH), true
}

// scaleRows puts the scaling in front of a matrix whose last row is 0 0 1 or
// 0 0 1 0.
func scaleRows(m []float64, cols int, sx, sy float64) {
	for row, s := range []float64{sx, sy} {
		for i := range cols {
			at := row*cols + i
			m[at] = (m[at] - (s-1)/2*m[2*cols+i]) / s
		}
	}
}
