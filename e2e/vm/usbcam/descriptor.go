// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package usbcam

import (
	"encoding/binary"
	"time"
)

var le = binary.LittleEndian

// Entities of the video function.
const (
	terminalCamera = 1
	unitProcessing = 2
	terminalOutput = 3

	formatYUYV = 1
	formatMJPG = 2

	endpointVideo = 0x81
	// maxPayload is how much uvcvideo reads at a time from a bulk endpoint: 32
	// packets of 512 bytes.
	maxPayload = 32 * 512

	intervalUnit = 100 * time.Nanosecond
)

// intervals that are offered for every size, fastest first, in intervalUnit.
var intervals = [...]uint32{333333, 666666}

// descriptor puts the length before its parts, which are bytes, words and
// further bytes.
func descriptor(parts ...any) []byte {
	b := join(parts...)
	return append([]byte{byte(len(b) + 1)}, b...)
}

// join makes bytes of int (one byte), uint16, uint32, string and []byte.
func join(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch v := p.(type) {
		case int:
			b = append(b, byte(v))
		case uint16:
			b = le.AppendUint16(b, v)
		case uint32:
			b = le.AppendUint32(b, v)
		case string:
			b = append(b, v...)
		case []byte:
			b = append(b, v...)
		}
	}
	return b
}

func deviceDescriptor() []byte {
	// USB 2.0, composite by interface association, packets of 64 bytes, vendor
	// pid.codes, one configuration.
	return descriptor(0x01, uint16(0x0200), 0xef, 2, 1, 64, uint16(0x1209), uint16(0x0001), uint16(0x0100), 1, 2, 3, 1)
}

func stringDescriptor(s string) []byte {
	var b []byte
	for _, r := range s {
		b = le.AppendUint16(b, uint16(r))
	}
	return descriptor(0x03, b)
}

// configuration describes the whole function (UVC 1.1, 3.7 to 3.10): one camera
// terminal, a processing unit with brightness and contrast, an output, and one
// bulk endpoint.
func (c Camera) configuration() []byte {
	control := join(
		descriptor(0x24, 0x02, terminalCamera, uint16(0x0201), 0, 0, uint16(0), uint16(0), uint16(0), 3, 0, 0, 0),
		descriptor(0x24, 0x05, unitProcessing, terminalCamera, uint16(0), 2, 0x03, 0, 0, 0),
		descriptor(0x24, 0x03, terminalOutput, uint16(0x0101), 0, unitProcessing, 0))
	controlHeader := descriptor(0x24, 0x01, uint16(0x0110), uint16(13+len(control)), uint32(48_000_000), 1, 1)

	colour := descriptor(0x24, 0x0d, 1, 1, 4)
	guid := "YUY2\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"
	video := descriptor(0x24, 0x04, formatYUYV, len(c.Sizes), guid, 16, 1, 0, 0, 0, 0)
	video = append(video, c.sizes(0x05)...)
	video = append(video, colour...)
	formats := 1
	if c.JPEG != nil {
		formats = 2
		video = append(video, descriptor(0x24, 0x06, formatMJPG, len(c.Sizes), 1, 1, 0, 0, 0, 0)...)
		video = append(video, c.sizes(0x07)...)
		video = append(video, colour...)
	}
	controls := make([]byte, formats) // bmaControls of each format
	headerBytes := 13 + formats
	videoHeader := descriptor(0x24, 0x01, formats, uint16(headerBytes+len(video)), endpointVideo, 0, terminalOutput, 0, 0, 0, 1, controls)

	body := join(
		descriptor(0x0b, 0, 2, 0x0e, 0x03, 0, 0),
		descriptor(0x04, 0, 0, 0, 0x0e, 0x01, 0, 0), controlHeader, control,
		descriptor(0x04, 1, 0, 1, 0x0e, 0x02, 0, 0), videoHeader, video,
		descriptor(0x05, endpointVideo, 0x02, uint16(512), 0))
	return join(descriptor(0x02, uint16(9+len(body)), 2, 1, 0, 0x80, 250), body)
}

// sizes are the frame descriptors of one format.
func (c Camera) sizes(subtype int) []byte {
	var b []byte
	for i, s := range c.Sizes {
		bytes := uint32(s.Width * s.Height * 2)
		b = append(b, descriptor(0x24, subtype, i+1, 0, uint16(s.Width), uint16(s.Height), bytes*8*15, bytes*8*30, bytes,
			intervals[0], len(intervals), intervals[0], intervals[1])...)
	}
	return b
}
