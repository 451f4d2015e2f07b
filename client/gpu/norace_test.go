// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package gpu

const raceDetector = false
