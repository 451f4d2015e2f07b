// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package interop holds the tests of zenoh against the reference
// implementation, the Python package eclipse-zenoh, as router and as peer.
package interop
