// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package ros2 holds tests of what camd is to ROS 2 nodes, through a real
// Zenoh router and with independent implementations of nodes in Python.
package ros2
