// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build matprofile

package main

import "gocv.io/x/gocv"

// openMats counts the Mats of gocv that were not closed.
func openMats() int { return gocv.MatProfile.Count() }
