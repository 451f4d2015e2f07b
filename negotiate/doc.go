// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package negotiate is how a subscriber and the daemon of the same host find
// each other and agree on a path: the runtime directory and its socket, the
// messages with their version, the reasons, and the pure decision function.
// It moves descriptors, never pixels, and knows no backend from inside.
package negotiate
