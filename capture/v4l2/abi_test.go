// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"testing"
	"unsafe"
)

// The figures are those of linux/videodev2.h compiled for a 64-bit host.
func TestRequests(t *testing.T) {
	for _, c := range []struct {
		name string
		got  uint
		want uint
	}{
		{"VIDIOC_QUERYCAP", reqQueryCap, 0x80685600},
		{"VIDIOC_ENUM_FMT", reqEnumFmt, 0xc0405602},
		{"VIDIOC_G_FMT", reqGetFmt, 0xc0d05604},
		{"VIDIOC_S_FMT", reqSetFmt, 0xc0d05605},
		{"VIDIOC_REQBUFS", reqReqBufs, 0xc0145608},
		{"VIDIOC_QUERYBUF", reqQueryBuf, 0xc0585609},
		{"VIDIOC_QBUF", reqQueueBuf, 0xc058560f},
		{"VIDIOC_DQBUF", reqDequeueBuf, 0xc0585611},
		{"VIDIOC_STREAMON", reqStreamOn, 0x40045612},
		{"VIDIOC_STREAMOFF", reqStreamOff, 0x40045613},
		{"VIDIOC_G_PARM", reqGetParm, 0xc0cc5615},
		{"VIDIOC_S_PARM", reqSetParm, 0xc0cc5616},
		{"VIDIOC_ENUMINPUT", reqEnumInput, 0xc050561a},
		{"VIDIOC_G_CTRL", reqGetCtrl, 0xc008561b},
		{"VIDIOC_S_CTRL", reqSetCtrl, 0xc008561c},
		{"VIDIOC_QUERYCTRL", reqQueryCtrl, 0xc0445624},
		{"VIDIOC_QUERYMENU", reqQueryMenu, 0xc02c5625},
		{"VIDIOC_G_INPUT", reqGetInput, 0x80045626},
		{"VIDIOC_S_INPUT", reqSetInput, 0xc0045627},
		{"VIDIOC_ENUM_FRAMESIZES", reqEnumSizes, 0xc02c564a},
		{"VIDIOC_ENUM_FRAMEINTERVALS", reqEnumIntervals, 0xc034564b},
		{"VIDIOC_S_DV_TIMINGS", reqSetTimings, 0xc0845657},
		{"VIDIOC_DQEVENT", reqDequeueEvent, 0x80885659},
		{"VIDIOC_SUBSCRIBE_EVENT", reqSubscribeEvent, 0x4020565a},
		{"VIDIOC_G_SELECTION", reqGetSelection, 0xc040565e},
		{"VIDIOC_S_SELECTION", reqSetSelection, 0xc040565f},
		{"VIDIOC_QUERY_DV_TIMINGS", reqQueryTimings, 0x80845663},
		{"VIDIOC_QUERY_EXT_CTRL", reqQueryExtCtrl, 0xc0e85667},
	} {
		if c.got != c.want {
			t.Errorf("%s = %#x, want %#x", c.name, c.got, c.want)
		}
	}
}

func TestOffsets(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"buffer.timestamp", unsafe.Offsetof(buffer{}.Seconds), 24},
		{"buffer.sequence", unsafe.Offsetof(buffer{}.Sequence), 56},
		{"buffer.m", unsafe.Offsetof(buffer{}.M), 64},
		{"buffer.length", unsafe.Offsetof(buffer{}.Length), 72},
		{"format.fmt", unsafe.Offsetof(format{}.Fmt), 8},
		{"plane", unsafe.Sizeof(plane{}), 64},
		{"pix", unsafe.Sizeof(pixFormat{}), 48},
		{"mplane", unsafe.Sizeof(mplaneFormat{}), 192},
		{"mplane.num_planes", unsafe.Offsetof(mplaneFormat{}.NumPlanes), 180},
		{"input.capabilities", unsafe.Offsetof(input{}.Capabilities), 60},
		{"dv_timings.pixelclock", unsafe.Offsetof(dvTimings{}.PixelClock), 20},
		{"dv_timings.porches", unsafe.Offsetof(dvTimings{}.Porches), 28},
		{"dv_timings.standards", unsafe.Offsetof(dvTimings{}.Standards), 64},
	} {
		if c.got != c.want {
			t.Errorf("%s = %d, want %d", c.name, c.got, c.want)
		}
	}
}
