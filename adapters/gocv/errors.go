// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cvmat

import "errors"

var (
	// ErrDevice reports a frame in memory of a GPU, which has no pixels that a
	// Mat could show: subscribe without [client.WithDevice].
	ErrDevice = errors.New("frame is in memory of a GPU")
	// ErrReleased reports a frame that was released before it was opened.
	ErrReleased = errors.New("frame was released")
	// ErrLayout reports a frame that no Mat can show as it lies in memory.
	ErrLayout = errors.New("no Mat has this layout")
	// ErrClosed reports the use of a Mat after Close.
	ErrClosed = errors.New("Mat is closed")
	// ErrLent reports headers that still show the pixels when the Mat is closed.
	// It stays open: close them, then call Close again.
	ErrLent = errors.New("pixels are in use by other Mats")
	// ErrTaken reports that the gocv.Mat that belongs to a Mat was closed, or was
	// the destination of a function that gave it other memory.
	ErrTaken = errors.New("gocv.Mat was closed or overwritten by the program")
	// ErrPicture reports a JPEG or PNG that OpenCV cannot decode.
	ErrPicture = errors.New("picture cannot be decoded")
	// ErrDepth reports a Mat that is no depth, or a range that is none.
	ErrDepth = errors.New("no depth")
)
