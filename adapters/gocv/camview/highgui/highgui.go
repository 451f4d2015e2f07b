// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package highgui is a window of OpenCV, and the files that are made of what it
// shows. gocv has both too, but does not tell how large a window is, opens them
// with a tool bar, and lets an exception of OpenCV end the process.
package highgui

/*
#cgo pkg-config: opencv4
#cgo CXXFLAGS: -std=c++11
#include <stdlib.h>
#include "highgui.h"
*/
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"gocv.io/x/gocv"
)

var (
	// ErrWindow is what the window system or OpenCV refused.
	ErrWindow = errors.New("window failed")
	// ErrEncode reports a picture that cannot be a file of a kind.
	ErrEncode = errors.New("picture cannot be encoded")
)

// reasonBytes is room for what an exception says.
const reasonBytes = 512

// Window is an open window. It belongs to the main thread of the process, with all
// of its methods. There is one at a time.
type Window struct {
	name *C.char
	why  *C.char
}

// Display connects to the display. Where that fails the toolkit below OpenCV may
// end the process: it is for a process that exists to find out.
func Display() error {
	w := blank()
	defer w.free()
	return w.check("display", C.camview_display(w.why, reasonBytes))
}

// Open opens a window for pictures of width x height pixels, which the user can
// resize. Of a display that cannot be had Display tells.
func Open(title string, width, height int) (*Window, error) {
	w := blank()
	t := C.CString(title)
	defer C.free(unsafe.Pointer(t))
	if err := w.check("open", C.camview_open(w.name, t, C.int(width), C.int(height), w.why, reasonBytes)); err != nil {
		w.free()
		return nil, err
	}
	return w, nil
}

func blank() *Window {
	return &Window{name: C.CString("camview"), why: (*C.char)(C.calloc(1, reasonBytes))}
}

// Title sets the text of the title bar.
func (w *Window) Title(title string) error {
	t := C.CString(title)
	defer C.free(unsafe.Pointer(t))
	return w.check("title", C.camview_title(w.name, t, w.why, reasonBytes))
}

// Resize makes room for pictures of width x height pixels.
func (w *Window) Resize(width, height int) error {
	return w.check("resize", C.camview_resize(w.name, C.int(width), C.int(height), w.why, reasonBytes))
}

// Show replaces the picture, 8UC3 in the order B G R. It is stretched to the window
// if it is not of its size, and drawn in the next Key.
func (w *Window) Show(picture gocv.Mat) error {
	return w.check("show", C.camview_show(w.name, unsafe.Pointer(picture.Ptr()), w.why, reasonBytes))
}

// Size is the area for pictures in pixels. open is false once the user has closed
// the window; Show would open another one then.
func (w *Window) Size() (width, height int, open bool, err error) {
	var cw, ch, o C.int
	err = w.check("size", C.camview_size(w.name, &cw, &ch, &o, w.why, reasonBytes))
	return int(cw), int(ch), o != 0 && err == nil, err
}

// NoKey is what Key returns when none was pressed.
const NoKey = -1

// Key handles events of the window for some milliseconds, from 1 on, or until a
// key is pressed, whose code it returns: in ASCII where the key has a character of
// that, mostly a small letter, and above 255 where it has none.
func (w *Window) Key(millis int) (int, error) {
	key := C.int(NoKey)
	err := w.check("key", C.camview_key(C.int(millis), &key, w.why, reasonBytes))
	return int(key), err
}

// Close closes the window. It is called once.
func (w *Window) Close() error {
	err := w.check("close", C.camview_close(w.name, w.why, reasonBytes))
	w.free()
	return err
}

// Encode makes a file of a picture, 8UC3 in the order B G R, of the kind that ext
// names: ".png", or ".jpg", whose sides are at most 65500 pixels. It fails with
// ErrEncode.
func Encode(ext string, picture gocv.Mat) ([]byte, error) {
	e, why := C.CString(ext), (*C.char)(C.calloc(1, reasonBytes))
	defer C.free(unsafe.Pointer(e))
	defer C.free(unsafe.Pointer(why))
	var data unsafe.Pointer
	var n C.size_t
	if C.camview_encode(e, unsafe.Pointer(picture.Ptr()), &data, &n, why, reasonBytes) != 0 {
		return nil, fmt.Errorf("%w: %dx%d as %s: %s", ErrEncode, picture.Cols(), picture.Rows(), ext, strings.TrimSpace(C.GoString(why)))
	}
	defer C.free(data)
	return bytes.Clone(unsafe.Slice((*byte)(data), int(n))), nil
}

func (w *Window) free() {
	C.free(unsafe.Pointer(w.name))
	C.free(unsafe.Pointer(w.why))
}

func (w *Window) check(what string, rc C.int) error {
	if rc == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s: %s", ErrWindow, what, strings.TrimSpace(C.GoString(w.why)))
}
