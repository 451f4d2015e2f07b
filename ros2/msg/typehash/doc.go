// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package typehash computes the hash by which ROS 2 nodes know that they mean
// the same message type (RIHS01, REP 2016), from message definitions in the
// text form of .msg files. Constants, default values and comments have no part
// in it.
package typehash
