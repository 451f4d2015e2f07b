// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// planesOf is the array that a multi-planar buffer points to: that of the queue
// whose field the buffer is.
func planesOf(b *buffer) *[maxPlanes]plane {
	q := (*queue)(unsafe.Add(unsafe.Pointer(b), -int(unsafe.Offsetof(queue{}.buf))))
	if uint64(uintptr(unsafe.Pointer(&q.parts[0]))) != b.M {
		panic("a multi-planar buffer without its planes")
	}
	return &q.parts
}

// ioctl implements kernel.
func (f *fakeDriver) ioctl(req uint, arg unsafe.Pointer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fail[req]; err != nil {
		return err
	}
	if err := f.failOnce[req]; err != nil {
		delete(f.failOnce, req)
		return err
	}
	switch req {
	case reqQueryCap:
		c := (*capability)(arg)
		copy(c.Driver[:], "fake")
		copy(c.Card[:], "Fake Camera")
		c.Capabilities = capDeviceCaps
		c.DeviceCaps = capStreaming | capCapture
		if f.mplane {
			c.DeviceCaps = capStreaming | capCaptureMplane
		}
	case reqEnumFmt, reqEnumSizes, reqEnumIntervals:
		return f.enumerate(req, arg)
	case reqGetFmt, reqSetFmt:
		return f.format(req, (*format)(arg))
	case reqGetParm, reqSetParm:
		return f.setParm(req, (*streamParm)(arg))
	case reqReqBufs:
		return f.request((*requestBuffers)(arg))
	case reqQueryBuf:
		b := (*buffer)(arg)
		b.Flags = bufFlagMonotonic
		if f.mplane {
			p := planesOf(b)
			for i, n := range f.planeSizes() {
				p[i].Length, p[i].M = uint32(n), uint64(b.Index)<<12
			}
			return nil
		}
		b.Length, b.M = uint32(len(f.mem[b.Index])), uint64(b.Index)<<12
	case reqQueueBuf:
		return f.enqueue((*buffer)(arg))
	case reqDequeueBuf:
		return f.dequeue((*buffer)(arg))
	case reqStreamOn:
		f.on = true
	case reqStreamOff:
		f.on = false
		f.queued, f.done = f.queued[:0], f.done[:0]
	case reqEnumInput:
		in := (*input)(arg)
		if int(in.Index) >= len(f.inputs) {
			return unix.EINVAL
		}
		*in = f.inputs[in.Index]
	case reqGetInput:
		*(*uint32)(arg) = 0
	case reqSetInput:
	case reqQueryTimings, reqSetTimings:
		return f.timings
	case reqSubscribeEvent:
	case reqDequeueEvent:
		if f.events == 0 {
			return unix.ENOENT
		}
		f.events--
		f.revents = 0
		(*event)(arg).Type = eventSourceChange
	case reqQueryExtCtrl, reqQueryCtrl, reqQueryMenu, reqGetCtrl, reqSetCtrl:
		return f.control(req, arg)
	default:
		return unix.ENOTTY
	}
	return nil
}

func (f *fakeDriver) enumerate(req uint, arg unsafe.Pointer) error {
	if req == reqEnumFmt {
		d := (*fmtDesc)(arg)
		if int(d.Index) >= len(f.formats) {
			return unix.EINVAL
		}
		d.PixelFormat, d.Flags = uint32(f.formats[d.Index].code), f.formats[d.Index].flags
		copy(d.Description[:], f.formats[d.Index].code.String())
		return nil
	}
	format := func(code uint32) *fakeFormat {
		i := slices.IndexFunc(f.formats, func(x fakeFormat) bool { return uint32(x.code) == code })
		return &f.formats[max(i, 0)]
	}
	if req == reqEnumSizes {
		e := (*frmSizeEnum)(arg)
		x := format(e.PixelFormat)
		if int(e.Index) >= len(x.sizes) {
			return unix.EINVAL
		}
		s := x.sizes[e.Index]
		e.Type, e.Sizes = enumDiscrete, [6]uint32{s.w, s.h}
		if x.grid {
			e.Type, e.Sizes = enumStepwise, [6]uint32{16, s.w, 2, 16, s.h, 2}
		}
		return nil
	}
	e := (*frmIvalEnum)(arg)
	for _, s := range format(e.PixelFormat).sizes {
		if s.w == e.Width && s.h == e.Height && int(e.Index) < len(s.rates) {
			e.Type, e.Intervals = enumDiscrete, [3]fraction{{1, s.rates[e.Index]}}
			return nil
		}
	}
	return unix.EINVAL
}

func (f *fakeDriver) format(req uint, a *format) error {
	if req == reqSetFmt {
		if f.granted > 0 {
			return unix.EBUSY
		}
		want := *a.pix()
		if f.mplane {
			m := a.mplane()
			want = pixFormat{Width: m.Width, Height: m.Height, PixelFormat: m.PixelFormat}
		}
		f.complete(&want)
		if f.adjust != nil {
			f.adjust(&want)
		}
		f.current = want
	}
	if f.mplane {
		c := f.current
		m := mplaneFormat{Width: c.Width, Height: c.Height, PixelFormat: c.PixelFormat, Field: c.Field}
		sizes := f.planeSizes()
		m.NumPlanes = uint8(len(sizes))
		for i, n := range sizes {
			m.Planes[i] = planeFormat{SizeImage: uint32(n), BytesPerLine: c.BytesPerLine}
		}
		*a.mplane() = m
		return nil
	}
	*a.pix() = f.current
	return nil
}

func (f *fakeDriver) setParm(req uint, p *streamParm) error {
	if f.noParm {
		return unix.ENOTTY
	}
	if req == reqSetParm {
		r := uint32(p.TimePerFrame.rate() + 0.5)
		if f.rate != nil {
			r = f.rate(r)
		}
		f.parm = fraction{1, r}
	}
	p.Capability, p.TimePerFrame = parmTimePerFrame, f.parm
	return nil
}

func (f *fakeDriver) request(r *requestBuffers) error {
	if r.Memory == memoryUserptr && f.noUser && r.Count > 0 {
		return unix.EINVAL
	}
	most := f.most
	if most == 0 {
		most = 32
	}
	r.Count = min(r.Count, most)
	f.granted, f.memory = r.Count, r.Memory
	f.queued, f.done = f.queued[:0], f.done[:0]
	if r.Memory == memoryMmap {
		n := int(f.current.SizeImage)
		if f.memBytes > 0 {
			n = f.memBytes
		}
		for i := range r.Count {
			f.mem[i] = make([]byte, n)
		}
	}
	return nil
}

func (f *fakeDriver) enqueue(b *buffer) error {
	if b.Index >= f.granted || b.Memory != f.memory {
		return unix.EINVAL
	}
	if slices.ContainsFunc(f.queued, func(o buffer) bool { return o.Index == b.Index }) {
		return unix.EINVAL
	}
	q := *b
	if f.mplane {
		f.planes[b.Index] = *planesOf(b)
	}
	if b.Memory == memoryUserptr {
		address := b.M
		if f.mplane {
			address = f.planes[b.Index][0].M
		} else if int(b.Length) < int(f.current.SizeImage) {
			return unix.EINVAL
		}
		if len(f.find(address)) < int(f.current.SizeImage) {
			return unix.EFAULT // the driver would write beyond the slot
		}
		if old, ok := f.partners[b.Index]; ok && old != address {
			f.repinned++
		}
		f.partners[b.Index] = address
	}
	f.queued = append(f.queued, q)
	return nil
}

func (f *fakeDriver) dequeue(b *buffer) error {
	if len(f.done) == 0 {
		return unix.EAGAIN
	}
	f.unsignal()
	d := f.done[0]
	copy(f.done, f.done[1:])
	f.done = f.done[:len(f.done)-1]
	if f.mplane {
		p := planesOf(b)
		*p = f.planes[d.Index]
		d.M = b.M
	}
	*b = d
	return nil
}

func (f *fakeDriver) control(req uint, arg unsafe.Pointer) error {
	if req == reqQueryExtCtrl && f.oldCtrl {
		return unix.ENOTTY
	}
	next := func(id uint32) *queryExtCtrl {
		for i := range f.controls {
			if f.controls[i].ID > id&^ctrlNext || (id == ctrlNext) {
				return &f.controls[i]
			}
		}
		return nil
	}
	switch req {
	case reqQueryExtCtrl:
		q := (*queryExtCtrl)(arg)
		c := next(q.ID)
		if c == nil {
			return unix.EINVAL
		}
		*q = *c
	case reqQueryCtrl:
		q := (*queryCtrl)(arg)
		c := next(q.ID)
		if c == nil {
			return unix.EINVAL
		}
		*q = queryCtrl{ID: c.ID, Type: c.Type, Name: c.Name, Minimum: int32(c.Minimum), Maximum: int32(c.Maximum), Step: int32(c.Step), Flags: c.Flags}
	case reqQueryMenu:
		m := (*queryMenu)(arg)
		if m.Index == 2 { // menus have holes
			return unix.EINVAL
		}
		copy(m.Name[:], []string{"Auto Mode", "Manual Mode", "", "Aperture Priority Mode"}[m.Index])
	case reqGetCtrl:
		(*control)(arg).Value = 7
	case reqSetCtrl:
		f.set = append(f.set, *(*control)(arg))
	}
	return nil
}
