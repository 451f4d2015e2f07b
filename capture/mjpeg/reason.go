// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package mjpeg

import (
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/jpeg"
)

// DropReason is under what a damaged frame is counted: "damaged_" and the word
// of [jpeg.Reason], for example "damaged_truncated". What is no damage of a
// JPEG is [capture.DropDamaged].
func DropReason(err error) capture.DropReason {
	word := jpeg.Reason(err)
	if word == "" {
		return capture.DropDamaged
	}
	return capture.DropDamaged + "_" + capture.DropReason(word)
}
