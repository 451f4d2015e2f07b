// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cvmat

/*
#cgo pkg-config: opencv4
#cgo CXXFLAGS: -std=c++11
#cgo LDFLAGS: -Wl,--as-needed
#include "header.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"gocv.io/x/gocv"
)

// loan is memory that headers of OpenCV show.
type loan struct {
	p      *C.cvmat_loan
	header unsafe.Pointer // the cv::Mat that was made for it
}

// lend makes header, a Mat of its own, show pixels.
func lend(header gocv.Mat, s shape, pixels unsafe.Pointer) (loan, error) {
	l := loan{header: unsafe.Pointer(header.Ptr())}
	if l.p = C.cvmat_lend(l.header, C.int(s.rows), C.int(s.cols), C.int(s.kind), pixels, C.size_t(s.step)); l.p == nil {
		return loan{}, fmt.Errorf("%w: OpenCV refuses %dx%d elements of type %d with a step of %d bytes", ErrLayout, s.cols, s.rows, s.kind, s.step)
	}
	return l, nil
}

// end empties the header and frees the loan. It fails with ErrLent, and then
// changes nothing, or with ErrTaken, and then the header is not ours any more.
func (l loan) end() error {
	switch others := C.cvmat_end(l.p, l.header); {
	case others > 0:
		return fmt.Errorf("%w: %d of them, close them first", ErrLent, int(others))
	case others < 0:
		C.cvmat_free(l.p)
		return ErrTaken
	}
	C.cvmat_free(l.p)
	return nil
}

// headers counts the Mats that show the memory.
func (l loan) headers() int { return int(C.cvmat_headers(l.p)) }

// drop frees an empty header that nothing in this program can reach.
func (l loan) drop() { C.cvmat_drop(l.header) }

// memory is the address of a Mat's pixels.
func memory(m gocv.Mat) unsafe.Pointer { return C.cvmat_data(unsafe.Pointer(m.Ptr())) }

// create gives dst memory of its own for the shape, unless it has it.
func create(dst *gocv.Mat, rows, cols int, kind gocv.MatType) (pixels []byte, step int, _ error) {
	var data unsafe.Pointer
	var bytes C.size_t
	if C.cvmat_create(unsafe.Pointer(dst.Ptr()), C.int(rows), C.int(cols), C.int(kind), &data, &bytes) != 0 {
		return nil, 0, fmt.Errorf("%w: no memory for %dx%d elements of type %d", ErrLayout, cols, rows, kind)
	}
	step = int(bytes)
	return unsafe.Slice((*byte)(data), step*(rows-1)+cols*elementBytes(kind)), step, nil
}

func colorDepth(depth gocv.Mat, dst *gocv.Mat, near, far float64) error {
	if C.cvmat_color_depth(unsafe.Pointer(depth.Ptr()), unsafe.Pointer(dst.Ptr()), C.double(near), C.double(far)) != 0 {
		return fmt.Errorf("%w: OpenCV failed", ErrDepth)
	}
	return nil
}

// decodeFile makes dst the picture of a JPEG or PNG. gocv.IMDecode lets an exception
// of OpenCV end the process, and what is in a file is of others.
func decodeFile(data []byte, dst *gocv.Mat) error {
	var why [256]C.char
	if C.cvmat_decode(unsafe.Pointer(unsafe.SliceData(data)), C.size_t(len(data)), unsafe.Pointer(dst.Ptr()), &why[0], C.size_t(len(why))) != 0 {
		return fmt.Errorf("%w: %d bytes%s", ErrPicture, len(data), strings.TrimSpace(C.GoString(&why[0])))
	}
	return nil
}

// view has f called with a header that shows data, and waits for it.
func (s shape) view(data []byte, f func(gocv.Mat)) error {
	if need := s.offset + s.bytes(); len(data) < need || need == 0 {
		return fmt.Errorf("%w: it takes %d bytes, there are %d", ErrLayout, need, len(data))
	}
	first := unsafe.Pointer(&data[s.offset])
	var pinner runtime.Pinner
	pinner.Pin(first)
	defer pinner.Unpin()
	m := gocv.NewMat()
	defer m.Close()
	l, err := lend(m, s, first)
	if err != nil {
		return err
	}
	f(m)
	return l.end()
}
