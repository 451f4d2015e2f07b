// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package calib reads and writes the files in which ROS keeps the calibration
// of a camera, and fits a calibration to pictures of another size. It knows
// nothing of messages and streams.
package calib
