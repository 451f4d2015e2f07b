// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package net runs camd and camsub as on several hosts: each is a set of Linux
// namespaces, with a network, a name and a runtime directory of its own, and
// links between them that are slow, far or cut. It needs root and iproute2.
package net
