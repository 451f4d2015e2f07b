// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package usbcam

import (
	"slices"
	"sync"
)

// probeBytes is the length of the structure with which stream parameters are
// agreed on (UVC 1.1, 4.3.1.1).
const probeBytes = 34

// device answers the kernel's requests.
type device struct {
	camera Camera
	link   *link

	mu       sync.Mutex
	changed  sync.Cond
	pending  []urb // of the video endpoint
	probe    []byte
	commit   []byte // nil until the host chose
	setups   int    // counts the commits
	gone     bool
	controls map[uint32]uint32
}

func newDevice(c Camera, l *link) *device {
	d := &device{camera: c, link: l, controls: make(map[uint32]uint32)}
	d.changed.L = &d.mu
	d.probe = d.fix(make([]byte, probeBytes))
	return d
}

// fix makes parameters that the camera has of those that the host asks for.
func (d *device) fix(p []byte) []byte {
	formats := byte(1)
	if d.camera.JPEG != nil {
		formats = 2
	}
	if p[2] < 1 || p[2] > formats {
		p[2] = 1
	}
	if p[3] < 1 || int(p[3]) > len(d.camera.Sizes) {
		p[3] = 1
	}
	if !slices.Contains(intervals[:], le.Uint32(p[4:])) {
		le.PutUint32(p[4:], intervals[0])
	}
	s := d.camera.Sizes[p[3]-1]
	le.PutUint32(p[18:], uint32(s.Width*s.Height*2)) // dwMaxVideoFrameSize
	le.PutUint32(p[22:], maxPayload)                 // dwMaxPayloadTransferSize
	le.PutUint32(p[26:], 48_000_000)                 // dwClockFrequency
	copy(p[30:], []byte{3, 1, 1, 1})                 // framing, versions
	return p
}

// serve answers requests until the camera is unplugged.
func (d *device) serve() {
	for {
		u, err := d.link.receive()
		switch {
		case err != nil:
			d.mu.Lock()
			d.gone = true
			d.mu.Unlock()
			d.changed.Broadcast()
			return
		case u.unlink:
			d.takeBack(u)
		case u.endpoint == 0:
			d.answerControl(u)
		default:
			d.mu.Lock()
			d.pending = append(d.pending, u)
			d.mu.Unlock()
			d.changed.Broadcast()
		}
	}
}

func (d *device) takeBack(u urb) {
	d.mu.Lock()
	n := len(d.pending)
	d.pending = slices.DeleteFunc(d.pending, func(p urb) bool { return p.seq == u.victim })
	found := len(d.pending) < n
	d.mu.Unlock()
	status := int32(0)
	if found {
		status = statusReset
	}
	d.link.unlinked(u.seq, status)
}

func (d *device) answerControl(u urb) {
	data, ok := d.control(u)
	switch {
	case !ok:
		d.link.answer(u.seq, statusStall, nil, 0)
	case u.in:
		data = data[:min(len(data), u.length)]
		d.link.answer(u.seq, 0, data, len(data))
	default:
		d.link.answer(u.seq, 0, nil, u.length)
	}
}

// control answers a request at endpoint 0; false = stall.
func (d *device) control(u urb) ([]byte, bool) {
	kind, request := u.setup[0], u.setup[1]
	value, index := le.Uint16(u.setup[2:]), le.Uint16(u.setup[4:])
	const class, standard, toInterface = 0x20, 0x00, 0x01
	switch {
	case kind&0x60 == standard:
		return d.standard(request, value)
	case kind&0x60 != class || kind&0x1f != toInterface:
		return nil, false
	case index&0xff == 1:
		return d.streaming(request, value>>8, u.data)
	case index>>8 == 0:
		return []byte{0}, true // of the control interface itself: no error
	}
	return d.unit(request, uint32(index)<<16|uint32(value>>8), u.data)
}

// standard answers requests that every USB device has (USB 2.0, 9.4).
func (d *device) standard(request byte, value uint16) ([]byte, bool) {
	switch request {
	case 0: // GET_STATUS
		return []byte{0, 0}, true
	case 8: // GET_CONFIGURATION
		return []byte{1}, true
	case 10: // GET_INTERFACE
		return []byte{0}, true
	case 1, 3, 5, 9, 11: // features, address, configuration, interface
		return nil, true
	case 6: // GET_DESCRIPTOR
	default:
		return nil, false
	}
	switch value >> 8 {
	case 1:
		return deviceDescriptor(), true
	case 2:
		return d.camera.configuration(), true
	case 3:
		texts := []string{"", d.camera.Manufacturer, d.camera.Product, d.camera.Serial}
		switch n := int(value & 0xff); {
		case n == 0:
			return descriptor(0x03, uint16(0x0409)), true // English
		case n < len(texts):
			return stringDescriptor(texts[n]), true
		}
	}
	return nil, false
}

// Requests of the video class (UVC 1.1, A.8).
const (
	setCur  = 0x01
	getCur  = 0x81
	getMin  = 0x82
	getMax  = 0x83
	getRes  = 0x84
	getLen  = 0x85
	getInfo = 0x86
	getDef  = 0x87

	selectProbe = 1
)

// streaming answers probe and commit.
func (d *device) streaming(request byte, selector uint16, data []byte) ([]byte, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch request {
	case setCur:
		p := make([]byte, probeBytes)
		copy(p, data)
		d.fix(p)
		if selector == selectProbe {
			d.probe = p
		} else {
			d.commit = p
			d.setups++
			d.changed.Broadcast()
		}
		return nil, true
	case getCur, getMin, getMax, getDef:
		return slices.Clone(d.probe), true
	case getLen:
		return join(uint16(probeBytes)), true
	case getInfo:
		return []byte{3}, true
	}
	return nil, false
}

// unit answers for a control of 0 to 100.
func (d *device) unit(request byte, key uint32, data []byte) ([]byte, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch request {
	case setCur:
		var v [4]byte
		copy(v[:], data)
		d.controls[key] = le.Uint32(v[:])
		return nil, true
	case getCur:
		v, ok := d.controls[key]
		if !ok {
			v = 50
		}
		return join(v), true
	case getMin:
		return join(uint32(0)), true
	case getMax:
		return join(uint32(100)), true
	case getRes:
		return join(uint32(1)), true
	case getDef:
		return join(uint32(50)), true
	case getLen:
		return join(uint16(2)), true
	case getInfo:
		return []byte{3}, true
	}
	return nil, false
}
