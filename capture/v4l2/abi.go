// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import "unsafe"

// Structures and requests of linux/videodev2.h as 64-bit kernels have them.
// A test holds sizes and requests against the header's.

type capability struct {
	Driver       [16]byte
	Card         [32]byte
	Bus          [32]byte
	Version      uint32
	Capabilities uint32
	DeviceCaps   uint32
	_            [3]uint32
}

type fmtDesc struct {
	Index       uint32
	Type        uint32
	Flags       uint32
	Description [32]byte
	PixelFormat uint32
	MbusCode    uint32
	_           [3]uint32
}

// format is struct v4l2_format; see pix and mplane for its union.
type format struct {
	Type uint32
	_    uint32
	Fmt  [25]uint64
}

func (f *format) pix() *pixFormat       { return (*pixFormat)(unsafe.Pointer(&f.Fmt)) }
func (f *format) mplane() *mplaneFormat { return (*mplaneFormat)(unsafe.Pointer(&f.Fmt)) }

type pixFormat struct {
	Width        uint32
	Height       uint32
	PixelFormat  uint32
	Field        uint32
	BytesPerLine uint32
	SizeImage    uint32
	Colorspace   uint32
	Priv         uint32
	Flags        uint32
	YCbCrEnc     uint32
	Quantization uint32
	XferFunc     uint32
}

// maxPlanes is VIDEO_MAX_PLANES.
const maxPlanes = 8

type planeFormat struct {
	SizeImage    uint32
	BytesPerLine uint32
	_            [6]uint16
}

type mplaneFormat struct {
	Width        uint32
	Height       uint32
	PixelFormat  uint32
	Field        uint32
	Colorspace   uint32
	Planes       [maxPlanes]planeFormat
	NumPlanes    uint8
	Flags        uint8
	YCbCrEnc     uint8
	Quantization uint8
	XferFunc     uint8
	_            [7]uint8
}

type fraction struct{ Numerator, Denominator uint32 }

type frmSizeEnum struct {
	Index       uint32
	PixelFormat uint32
	Type        uint32
	// Discrete: width, height. Stepwise: least width, most, step, least height,
	// most, step.
	Sizes [6]uint32
	_     [2]uint32
}

type frmIvalEnum struct {
	Index       uint32
	PixelFormat uint32
	Width       uint32
	Height      uint32
	Type        uint32
	// Discrete: the first. Stepwise: shortest interval, longest, step.
	Intervals [3]fraction
	_         [2]uint32
}

// Kinds of enumerated sizes and intervals.
const (
	enumDiscrete   = 1
	enumContinuous = 2
	enumStepwise   = 3
)

// streamParm is struct v4l2_streamparm for capture.
type streamParm struct {
	Type         uint32
	Capability   uint32
	CaptureMode  uint32
	TimePerFrame fraction
	ExtendedMode uint32
	ReadBuffers  uint32
	_            [44]uint32
}

type requestBuffers struct {
	Count        uint32
	Type         uint32
	Memory       uint32
	Capabilities uint32
	Flags        uint8
	_            [3]uint8
}

type buffer struct {
	Index      uint32
	Type       uint32
	BytesUsed  uint32
	Flags      uint32
	Field      uint32
	_          uint32
	Seconds    int64
	Micros     int64
	Timecode   [16]byte
	Sequence   uint32
	Memory     uint32
	M          uint64 // offset, user pointer, or pointer to planes
	Length     uint32 // bytes, or number of planes
	Reserved2  uint32
	RequestFD  int32
	_reserved3 uint32
}

type plane struct {
	BytesUsed  uint32
	Length     uint32
	M          uint64 // offset or user pointer
	DataOffset uint32
	_          [11]uint32
}

type input struct {
	Index        uint32
	Name         [32]byte
	Type         uint32
	AudioSet     uint32
	Tuner        uint32
	Std          uint64
	Status       uint32
	Capabilities uint32
	_            [3]uint32
	_            uint32
}

// dvTimings is struct v4l2_dv_timings with the union as v4l2_bt_timings. The C
// structure is packed: the pixel clock stands at byte 20.
type dvTimings struct {
	Type       uint32
	Width      uint32
	Height     uint32
	Interlaced uint32
	Polarities uint32
	PixelClock [2]uint32 // low word first on little-endian hosts
	// Front porch, sync, back porch: horizontal, then vertical, then of the
	// second field.
	Porches   [9]uint32
	Standards uint32
	Flags     uint32
	_         [15]uint32
}

type selection struct {
	Type      uint32
	Target    uint32
	Flags     uint32
	Left, Top int32
	Width     uint32
	Height    uint32
	_         [9]uint32
}

type queryCtrl struct {
	ID      uint32
	Type    uint32
	Name    [32]byte
	Minimum int32
	Maximum int32
	Step    int32
	Default int32
	Flags   uint32
	_       [2]uint32
}

type queryExtCtrl struct {
	ID       uint32
	Type     uint32
	Name     [32]byte
	Minimum  int64
	Maximum  int64
	Step     uint64
	Default  int64
	Flags    uint32
	ElemSize uint32
	Elems    uint32
	NrOfDims uint32
	Dims     [4]uint32
	_        [32]uint32
}

type queryMenu struct {
	ID    uint32
	Index uint32
	Name  [32]byte
	_     uint32
}

type control struct {
	ID    uint32
	Value int32
}

type eventSubscription struct {
	Type  uint32
	ID    uint32
	Flags uint32
	_     [5]uint32
}

type event struct {
	Type     uint32
	_        uint32
	U        [8]uint64
	Pending  uint32
	Sequence uint32
	Seconds  int64
	Nanos    int64
	ID       uint32
	_        [8]uint32
	_        uint32
}

// Directions of an ioctl request (asm-generic/ioctl.h).
const (
	dirWrite = 1
	dirRead  = 2
)

// request is _IOC(dir, 'V', nr, size).
func request(dir, nr, size uintptr) uint {
	return uint(dir<<30 | size<<16 | 'V'<<8 | nr)
}

// The requests. They are variables because unsafe.Sizeof of padded structures
// is shown to be right by a test, not by the eye.
var (
	reqQueryCap       = request(dirRead, 0, unsafe.Sizeof(capability{}))
	reqEnumFmt        = request(dirRead|dirWrite, 2, unsafe.Sizeof(fmtDesc{}))
	reqGetFmt         = request(dirRead|dirWrite, 4, unsafe.Sizeof(format{}))
	reqSetFmt         = request(dirRead|dirWrite, 5, unsafe.Sizeof(format{}))
	reqReqBufs        = request(dirRead|dirWrite, 8, unsafe.Sizeof(requestBuffers{}))
	reqQueryBuf       = request(dirRead|dirWrite, 9, unsafe.Sizeof(buffer{}))
	reqQueueBuf       = request(dirRead|dirWrite, 15, unsafe.Sizeof(buffer{}))
	reqDequeueBuf     = request(dirRead|dirWrite, 17, unsafe.Sizeof(buffer{}))
	reqStreamOn       = request(dirWrite, 18, 4)
	reqStreamOff      = request(dirWrite, 19, 4)
	reqGetParm        = request(dirRead|dirWrite, 21, unsafe.Sizeof(streamParm{}))
	reqSetParm        = request(dirRead|dirWrite, 22, unsafe.Sizeof(streamParm{}))
	reqEnumInput      = request(dirRead|dirWrite, 26, unsafe.Sizeof(input{}))
	reqGetCtrl        = request(dirRead|dirWrite, 27, unsafe.Sizeof(control{}))
	reqSetCtrl        = request(dirRead|dirWrite, 28, unsafe.Sizeof(control{}))
	reqQueryCtrl      = request(dirRead|dirWrite, 36, unsafe.Sizeof(queryCtrl{}))
	reqQueryMenu      = request(dirRead|dirWrite, 37, unsafe.Sizeof(queryMenu{}))
	reqGetInput       = request(dirRead, 38, 4)
	reqSetInput       = request(dirRead|dirWrite, 39, 4)
	reqEnumSizes      = request(dirRead|dirWrite, 74, unsafe.Sizeof(frmSizeEnum{}))
	reqEnumIntervals  = request(dirRead|dirWrite, 75, unsafe.Sizeof(frmIvalEnum{}))
	reqSetTimings     = request(dirRead|dirWrite, 87, unsafe.Sizeof(dvTimings{}))
	reqDequeueEvent   = request(dirRead, 89, unsafe.Sizeof(event{}))
	reqSubscribeEvent = request(dirWrite, 90, unsafe.Sizeof(eventSubscription{}))
	reqGetSelection   = request(dirRead|dirWrite, 94, unsafe.Sizeof(selection{}))
	reqSetSelection   = request(dirRead|dirWrite, 95, unsafe.Sizeof(selection{}))
	reqQueryTimings   = request(dirRead, 99, unsafe.Sizeof(dvTimings{}))
	reqQueryExtCtrl   = request(dirRead|dirWrite, 103, unsafe.Sizeof(queryExtCtrl{}))
)
