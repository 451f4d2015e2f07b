// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package cudabuf has frames in memory of a GPU: the memory itself, which one
// process makes and others import by a file descriptor, the ring of slots in it,
// and the handles by which a slot is written and read, so that nobody sees a
// frame whose copy is under way.
//
// Functions that take a [driver.Thread] call the driver on it: they belong into a
// function that its Do runs.
package cudabuf
