// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e holds tests of the built programs, from outside: camd and camsub
// as processes, and clients that keep to no rule. Nothing else may enter.
//
// What depends on how fast the machine is, such as gaps of a reader that was
// scheduled late, is held against the counters of the daemon, never against a
// clock; with CAMD_E2E_STRICT=1 it must not happen at all. The long runs are
// the tests named Soak; they need the flag -soak.
package e2e
