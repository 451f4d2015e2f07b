// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build matprofile

package cvmat

import "gocv.io/x/gocv"

// forget takes a Mat out of gocv's profile of those that were not closed: its
// header goes later, and not by gocv.
func forget(m gocv.Mat) { gocv.MatProfile.Remove(m.Ptr()) }
