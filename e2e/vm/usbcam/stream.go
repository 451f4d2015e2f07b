// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package usbcam

import "time"

// Bits of a payload header (UVC 1.1, 2.4.3.3).
const (
	payloadHeader = 12 // bytes, with both time stamps
	infoFrameID   = 0x01
	infoEnd       = 0x02
	infoError     = 0x40
	infoAlways    = 0x8c // end of header, source clock, presentation time
)

// stream sends frames while the host wants any.
func (d *device) stream() {
	start := time.Now()
	due := start
	id := byte(0)
	silent := 0 // the setup after which nothing was to come
	for n := 1; ; n++ {
		setup, p, ok := d.wanted(silent)
		if !ok {
			return
		}
		interval := time.Duration(le.Uint32(p[4:])) * intervalUnit
		if d.camera.Interval > 0 {
			interval = d.camera.Interval
		}
		// A camera that nobody listened to does not catch up.
		if due = due.Add(interval); time.Since(due) > interval {
			due = time.Now()
		}
		time.Sleep(time.Until(due))
		fault := Good
		if d.camera.Fault != nil {
			fault = d.camera.Fault(n)
		}
		switch fault {
		case Silence:
			silent = setup
			continue
		case Skip:
			continue
		}
		if !d.send(d.picture(n, p, fault), id|errorBit(fault), setup, time.Since(start)) {
			return
		}
		id ^= infoFrameID
	}
}

func errorBit(f Fault) byte {
	if f == ErrorBit {
		return infoError
	}
	return 0
}

func (d *device) picture(n int, p []byte, fault Fault) []byte {
	size := d.camera.Sizes[p[3]-1]
	var data []byte
	if p[2] == formatMJPG {
		data = d.camera.JPEG(n, size)
	} else {
		data = YUYV(n, size, d.camera.Chroma)
	}
	if fault == Cut {
		data = data[:len(data)/2]
	}
	return data
}

// wanted waits until the host reads, with other parameters than those of the
// setup not. It reports false when the camera is unplugged.
func (d *device) wanted(not int) (setup int, parameters []byte, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.gone && (d.commit == nil || len(d.pending) == 0 || d.setups == not) {
		d.changed.Wait()
	}
	return d.setups, d.commit, !d.gone
}

// answer waits for a request and answers it with what payload makes for so many
// bytes. It reports false when there will be none for this setup.
func (d *device) answer(setup int, payload func(length int) []byte) (ok, gone bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.gone && len(d.pending) == 0 && d.setups == setup {
		d.changed.Wait()
	}
	if d.gone || d.setups != setup {
		return false, d.gone
	}
	u := d.pending[0]
	d.pending = d.pending[1:]
	b := payload(u.length)
	// Still locked: after the answer to a request to take this one back, an
	// answer to it would be an error for the kernel, which then hangs up.
	d.link.answer(u.seq, 0, b, len(b))
	return true, false
}

// send divides a frame into payloads, one for each request. It reports false
// when the camera is unplugged.
func (d *device) send(data []byte, info byte, setup int, at time.Duration) bool {
	clock := uint32(at.Microseconds() * 48)
	for off := 0; off < len(data); {
		ok, gone := d.answer(setup, func(length int) []byte {
			n := min(length, maxPayload) - payloadHeader
			bits := info | infoAlways
			if rest := len(data) - off; n >= rest {
				n = rest
				bits |= infoEnd
			}
			part := data[off : off+n]
			off += n
			return join(payloadHeader, int(bits), clock, clock, uint16(at.Milliseconds()&0x7ff), part)
		})
		if !ok {
			return !gone
		}
	}
	return true
}
