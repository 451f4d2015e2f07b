// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package go4vl makes a device of github.com/vladimirvivien/go4vl (v0.5.0) a
// camera of camd, for programs that have their devices and controls wrapped with
// that library. Package serve runs camd with it.
//
// A frame is copied twice on its way: by go4vl out of the driver's buffer, and
// from there into the slot that subscribers read. camd's own kind v4l2 copies
// none, and keeps the driver's error numbers, which go4vl does not.
package go4vl
