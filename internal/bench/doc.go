// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package bench is what camsub bench, sweep and compare do: phases of one
// stream by different backends, a sweep over payload sizes with publishers of
// its own, and files that say what was measured, how, and what spoils it.
//
// Nothing here prints or writes while a phase measures. Every figure can be
// recomputed from samples.csv, which holds the stamps of every frame.
package bench
