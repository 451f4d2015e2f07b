// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cvmat

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"gocv.io/x/gocv"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
)

// Mat is a frame as OpenCV sees it. It holds the frame, at the cost of one of
// the subscription's credits, until Close. Its methods may be called from any
// goroutine; what OpenCV does with the pixels must be over before Close.
type Mat struct {
	r   *record
	mat gocv.Mat // carries the tether
}

// record is what is known of a Mat, also after nobody has it any more. It must
// not lead to the tether.
type record struct {
	mu     sync.Mutex
	frame  *client.Retained
	pinner runtime.Pinner
	fence  *fence // nil: no guard
	loan   loan
	opened place
	closed bool
	taken  bool // the header is not ours any more
}

// tether is Go memory that the gocv.Mat and all its copies refer to: while it is
// there, some Go code has one of them, and the header may not be freed. It is
// large enough not to share its memory with other small values.
type tether struct{ b [32]byte }

// Open shows a frame as a Mat, without a copy: rows, columns, type and step are
// those of the frame, see [Layout]. The frame is held until [Mat.Close], beyond
// its turn of the loop. It fails with [ErrDevice], [ErrReleased], [ErrLayout] or
// the errors of [Layout].
func Open(f client.Frame) (*Mat, error) {
	return open(f, here(), layout)
}

// OpenPlane shows one plane of a frame, as Open does: of nv12 and nv21 luma (0,
// 8UC1) and chroma (1, 8UC2, half as wide and half as high), for which their
// sizes may be odd. Other encodings have plane 0 only.
func OpenPlane(f client.Frame, plane int) (*Mat, error) {
	return open(f, here(), func(g frame.Geometry, n int) (shape, error) { return planeLayout(g, n, plane) })
}

func open(f client.Frame, at place, layoutOf func(frame.Geometry, int) (shape, error)) (*Mat, error) {
	held, err := f.Retain()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReleased, err)
	}
	r := &record{frame: held, opened: at}
	m, err := r.open(layoutOf)
	if err != nil {
		r.letGo()
		return nil, err
	}
	return m, nil
}

func (r *record) open(layoutOf func(frame.Geometry, int) (shape, error)) (*Mat, error) {
	pixels := r.frame.Data()
	if _, n := r.frame.Device(); n > 0 && pixels == nil {
		return nil, fmt.Errorf("%w: %v", ErrDevice, r.frame.Geometry())
	}
	s, err := layoutOf(r.frame.Geometry(), len(pixels))
	if err != nil {
		return nil, err
	}
	if need := s.offset + s.bytes(); len(pixels) < need || need == 0 {
		return nil, fmt.Errorf("%w: %v takes %d bytes, the frame has %d", ErrLayout, r.frame.Geometry(), need, len(pixels))
	}
	if guarding.Load() {
		if r.fence, pixels, err = newFence(pixels); err != nil {
			return nil, err
		}
	}
	first := unsafe.Pointer(&pixels[s.offset])
	r.pinner.Pin(first) // OpenCV keeps it; memory that is not Go's is left alone
	t := new(tether)
	// The one way to give a gocv.Mat a reference to Go memory.
	mat, err := gocv.NewMatFromBytes(1, 1, gocv.MatTypeCV8UC1, t.b[:])
	if err != nil {
		return nil, err
	}
	if r.loan, err = lend(mat, s, first); err != nil {
		_ = mat.Close()
		return nil, err
	}
	opened.Add(1)
	runtime.AddCleanup(t, collected, r)
	return &Mat{r: r, mat: mat}, nil
}

// letGo gives the frame back. The memory is not shown by OpenCV any more.
func (r *record) letGo() {
	r.pinner.Unpin()
	r.fence.close()
	r.frame.Release()
}

// Mat is the header that shows the pixels, the same at each call: it belongs to
// m and must not be closed. It must be read only. After Close it is empty, and
// Mat panics with [ErrClosed].
func (m *Mat) Mat() gocv.Mat {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	switch {
	case m.r.closed:
		panic(fmt.Errorf("%w: opened at %v", ErrClosed, m.r.opened))
	case m.r.loan.headers() == 0:
		panic(fmt.Errorf("%w: opened at %v", ErrTaken, m.r.opened))
	}
	return m.mat
}

// Clone copies the pixels into a Mat of the program's own, which can be written
// to, lives as long as the program wants and is closed by it.
func (m *Mat) Clone() gocv.Mat {
	mat := m.Mat()
	return mat.Clone()
}

// Frame is the frame that is shown, with its geometry and stamps.
func (m *Mat) Frame() client.Frame { return m.r.frame.Frame }

// Valid reports whether the pixels are still this frame's, see
// [client.Frame.Valid].
func (m *Mat) Valid() error {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	if m.r.closed {
		return ErrClosed
	}
	return m.r.frame.Valid()
}

// Close empties the header and gives the frame back. It fails with [ErrLent]
// while other headers show the pixels: the frame then stays held, and Close can
// be called again. [ErrTaken] says that the header was closed or overwritten by
// the program, and [ErrClosed] that Close was called before; either way nothing
// is held any more.
func (m *Mat) Close() error {
	r := m.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return fmt.Errorf("%w: opened at %v", ErrClosed, r.opened)
	}
	err := r.close()
	runtime.KeepAlive(m)
	if err != nil {
		return fmt.Errorf("%w; opened at %v", err, r.opened)
	}
	forget(m.mat)
	return nil
}

// close needs r.mu.
func (r *record) close() error {
	err := r.loan.end()
	if err != nil && !isTaken(err) {
		return err
	}
	r.closed, r.taken = true, err != nil
	opened.Add(-1)
	r.letGo()
	return err
}
