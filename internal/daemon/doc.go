// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package daemon puts the parts of camd together: cameras with their
// supervisors, streams with their rings, the local socket, the status document.
// What each part does is decided in its own package.
package daemon
