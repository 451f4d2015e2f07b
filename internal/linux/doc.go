// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package linux wraps the few system calls that camd needs and that the
// standard library lacks: sealed memory files, shared futexes, process file
// descriptors, peer credentials, clocks and limits. It knows nothing of frames.
package linux
