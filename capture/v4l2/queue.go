// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mostBuffers is VIDEO_MAX_FRAME: no driver grants more.
const mostBuffers = 32

// queue is the row of buffers between driver and program: the requests, and
// the structures that are used again for every frame so that none allocates.
type queue struct {
	d       *Device
	memory  uint32
	planes  []planeLayout
	granted int // buffers
	queued  int // of them with the driver
	with    [mostBuffers]bool

	buf    buffer
	parts  [maxPlanes]plane
	pinner runtime.Pinner
}

func newQueue(d *Device, planes []planeLayout) *queue {
	q := &queue{d: d, planes: planes}
	// The kernel is given the address of parts inside of buf, where the
	// collector does not see it.
	q.pinner.Pin(&q.parts[0])
	return q
}

// request asks for buffers; what the driver makes of the number is granted.
func (q *queue) request(memory uint32, count int) error {
	r := requestBuffers{Count: uint32(count), Type: q.d.bufType, Memory: memory}
	if err := q.d.k.ioctl(reqReqBufs, unsafe.Pointer(&r)); err != nil {
		return err
	}
	q.memory = memory
	q.granted = min(int(r.Count), mostBuffers)
	q.queued = 0
	q.with = [mostBuffers]bool{}
	return nil
}

// reset clears buf for a request about buffer i.
func (q *queue) reset(i int) {
	q.buf = buffer{Index: uint32(i), Type: q.d.bufType, Memory: q.memory}
	if q.d.bufType == bufTypeCaptureMplane {
		q.parts = [maxPlanes]plane{}
		q.buf.M = uint64(uintptr(unsafe.Pointer(&q.parts[0])))
		q.buf.Length = maxPlanes
	}
}

// query asks about buffer i and leaves the answer in buf and parts.
func (q *queue) query(i int) error {
	q.reset(i)
	return q.d.call("VIDIOC_QUERYBUF", reqQueryBuf, unsafe.Pointer(&q.buf))
}

// enqueueUser gives buffer i, with memory of ours, to the driver. Each plane of
// the driver's lies where it belongs in the frame.
func (q *queue) enqueueUser(i int, memory []byte) error {
	q.reset(i)
	start := uint64(uintptr(unsafe.Pointer(&memory[0])))
	if q.d.bufType == bufTypeCaptureMplane {
		q.buf.Length = uint32(len(q.planes))
		for p, l := range q.planes {
			q.parts[p].M, q.parts[p].Length = start+uint64(l.offset), uint32(l.sizeImage)
		}
	} else {
		q.buf.M, q.buf.Length = start, uint32(q.planes[0].sizeImage)
	}
	return q.enqueue(i)
}

// enqueueMapped gives buffer i, with memory of the driver's, back to it.
func (q *queue) enqueueMapped(i int) error {
	q.reset(i)
	if q.d.bufType == bufTypeCaptureMplane {
		q.buf.Length = uint32(len(q.planes))
	}
	return q.enqueue(i)
}

func (q *queue) enqueue(i int) error {
	if err := q.d.k.ioctl(reqQueueBuf, unsafe.Pointer(&q.buf)); err != nil {
		return q.d.orGone(err)
	}
	q.with[i] = true
	q.queued++
	return nil
}

// errBadIndex: the driver hands out a buffer that it does not have.
var errBadIndex = errors.New("the driver returned a buffer that it was not given")

// dequeue takes the oldest filled buffer; its index and stamps are in buf.
// It reports false when none is ready.
func (q *queue) dequeue() (int, bool, error) {
	q.reset(0)
	if err := q.d.k.ioctl(reqDequeueBuf, unsafe.Pointer(&q.buf)); err != nil {
		if errors.Is(err, unix.EAGAIN) {
			return 0, false, nil
		}
		return 0, false, explain("VIDIOC_DQBUF", q.d.Path, q.d.orGone(err))
	}
	i := q.buf.Index
	if int64(i) >= int64(q.granted) || !q.with[i] {
		return 0, false, fmt.Errorf("%w: buffer %d of %d", errBadIndex, i, q.granted)
	}
	q.with[i] = false
	q.queued--
	return int(i), true, nil
}

// filled is how many bytes of plane p the driver wrote and where they begin in
// its buffer.
func (q *queue) filled(p int) (offset, bytes int) {
	if q.d.bufType != bufTypeCaptureMplane {
		return 0, int(q.buf.BytesUsed)
	}
	used, offset := int(q.parts[p].BytesUsed), int(q.parts[p].DataOffset)
	return offset, max(used-offset, 0)
}

// complete reports whether the buffer holds a whole frame.
func (q *queue) complete() bool {
	if q.buf.Flags&bufFlagError != 0 {
		return false
	}
	for p, l := range q.planes {
		if _, n := q.filled(p); n < l.need {
			return false
		}
	}
	return true
}

func (q *queue) streamOn() error {
	t := q.d.bufType
	return q.d.call("VIDIOC_STREAMON", reqStreamOn, unsafe.Pointer(&t))
}

// streamOff takes every buffer back from the driver.
func (q *queue) streamOff() error {
	t := q.d.bufType
	err := q.d.k.ioctl(reqStreamOff, unsafe.Pointer(&t))
	if err == nil {
		q.queued = 0
		q.with = [mostBuffers]bool{}
	}
	return err
}

// free ends the buffers. The driver may have forgotten them with its device, so
// there is nothing to do about a failure.
func (q *queue) free() {
	if q.granted > 0 {
		_ = q.request(q.memory, 0)
		q.granted = 0
	}
}
