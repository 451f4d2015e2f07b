// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package interop holds the tests of ros2 against independent implementations
// of the same formats, all of them Python packages.
package interop
