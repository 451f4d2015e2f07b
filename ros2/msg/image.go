// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import "github.com/seed-3c7e7623/camd/ros2/cdr"

// Image is sensor_msgs/msg/Image: one picture, not compressed.
type Image struct {
	Header      Header
	Height      uint32 // rows
	Width       uint32 // pixels in a row
	Encoding    string // of a pixel: "rgb8", "mono8", "16UC1", …
	IsBigendian uint8  // 1 if values of several bytes are big-endian
	Step        uint32 // bytes from row to row
	Data        []byte // Step × Height bytes
}

func (m *Image) write(w *cdr.Writer) {
	m.Header.write(w)
	w.Uint32(m.Height)
	w.Uint32(m.Width)
	w.String(m.Encoding)
	w.Uint8(m.IsBigendian)
	w.Uint32(m.Step)
}

// AppendPrefix appends everything of the message that comes before its bytes
// of data, the count of dataLen bytes included, so that the prefix and then
// the pixels are the message. dataLen is less than 2³²−1. Data is not looked
// at.
func (m *Image) AppendPrefix(b []byte, dataLen int) []byte {
	w := cdr.NewWriter(b)
	m.write(&w)
	w.Len(dataLen)
	return w.Buf
}

// AppendCDR appends the message to b.
func (m *Image) AppendCDR(b []byte) []byte {
	return append(m.AppendPrefix(b, len(m.Data)), m.Data...)
}

// DecodeCDR reads the message from b. Data is a part of b.
func (m *Image) DecodeCDR(b []byte) error {
	r := cdr.NewReader(b)
	m.Header.read(&r)
	m.Height = r.Uint32()
	m.Width = r.Uint32()
	r.StringInto(&m.Encoding)
	m.IsBigendian = r.Uint8()
	m.Step = r.Uint32()
	m.Data = r.Bytes()
	return r.End()
}
