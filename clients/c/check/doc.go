// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package check has the tests of the client in C, which lies one folder up. It
// has no code of its own.
package check
