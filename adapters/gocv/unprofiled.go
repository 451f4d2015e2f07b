// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build !matprofile

package cvmat

import "gocv.io/x/gocv"

// forget does something with the tag matprofile only.
func forget(gocv.Mat) {}
