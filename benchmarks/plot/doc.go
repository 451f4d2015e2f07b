// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Command camsub-plot draws the pictures of a run of camsub bench or sweep, as
// PNG and SVG, into the folder of the run.
//
// Lines are black and differ by dashes and marks, so that the pictures can be
// read without colours. It reads what meta.json and samples.csv say and knows
// nothing else of camd.
package main
