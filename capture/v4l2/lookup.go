// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

// Find returns the node that target names, as a camera's target does: a path,
// or a link of udev whether it exists or not. root is "/" on a real host. It
// fails with [capture.ErrDeviceNotFound].
func Find(root, target string) (Node, error) { return find(root, target, nil) }
