// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import "github.com/seed-3c7e7623/camd/frame"

// twoPlanes is NV12 with its planes in memory of their own (V4L2_PIX_FMT_NV12M).
const twoPlanes = frame.FourCC('N' | 'M'<<8 | '1'<<16 | '2'<<24)

// formatOf is the layout under which a pixel format is published.
func formatOf(code frame.FourCC) (frame.Format, bool) {
	if code == twoPlanes {
		return frame.Format{Encoding: frame.NV12}, true
	}
	return code.Format()
}
