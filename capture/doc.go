// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package capture is what every kind of camera has in common: the [Source]
// interface that a kind implements, the [Sink] that frames go into, and the
// [Supervisor] that opens, watches, retries and stops a source. One
// sub-package a kind. Memory comes through the interfaces declared here;
// rings, sockets and subscribers are not known in this package.
package capture
