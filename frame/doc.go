// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package frame says what a frame is: its geometry, the names of pixel
// encodings, the stamps and counters that travel with it. It holds no pixels,
// does no I/O and imports nothing of the project.
package frame
