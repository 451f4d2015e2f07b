// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build !matprofile

package main

// openMats is not known without the tag matprofile.
func openMats() int { return 0 }
