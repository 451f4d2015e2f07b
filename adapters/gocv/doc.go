// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package cvmat shows frames of camd as Mats of OpenCV, for programs that use
// gocv.io/x/gocv. A [Mat] is the frame itself: its pixels stay in the memory of
// the daemon, and nothing is copied.
//
//	m, err := cvmat.Open(f)
//	if err != nil {
//		return err
//	}
//	defer m.Close()
//	gocv.Canny(m.Mat(), &edges, 50, 150)
//
// That memory is mapped read-only. A function of OpenCV that writes to it, for
// example because the Mat is both source and destination, ends the program with
// SIGSEGV: draw on a [Mat.Clone], or into a destination of the program's own.
// Frames that came by the path cpu lie in memory of this process, where such a
// write is seen by nobody but the program itself, and guard mode finds it.
//
// # Mistakes
//
// What OpenCV shows of them is caught in every program: a Mat used after Close
// is empty, Close fails while other headers (Region, RowRange, Reshape) show the
// pixels, a Mat that was closed or overwritten behind the back of its owner is
// ErrTaken, and one that is collected by the garbage collector unclosed is
// logged and in [Leaks], with the place where it was opened. What OpenCV does
// not show, slices of DataPtrUint8 and Mats of FromPtr that are used after Close,
// is caught in guard mode: see [SetGuard].
package cvmat
