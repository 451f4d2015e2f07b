// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import "github.com/seed-3c7e7623/camd/ros2/cdr"

// CompressedImage is sensor_msgs/msg/CompressedImage: one picture as the bytes
// of an image file.
type CompressedImage struct {
	Header Header
	Format string // "jpeg", "png", or "rgb8; jpeg compressed bgr8"
	Data   []byte
}

// AppendPrefix appends everything of the message that comes before its bytes
// of data, the count of dataLen bytes included. dataLen is less than 2³²−1.
// Data is not looked at.
func (m *CompressedImage) AppendPrefix(b []byte, dataLen int) []byte {
	w := cdr.NewWriter(b)
	m.Header.write(&w)
	w.String(m.Format)
	w.Len(dataLen)
	return w.Buf
}

// AppendCDR appends the message to b.
func (m *CompressedImage) AppendCDR(b []byte) []byte {
	return append(m.AppendPrefix(b, len(m.Data)), m.Data...)
}

// DecodeCDR reads the message from b. Data is a part of b.
func (m *CompressedImage) DecodeCDR(b []byte) error {
	r := cdr.NewReader(b)
	m.Header.read(&r)
	r.StringInto(&m.Format)
	m.Data = r.Bytes()
	return r.End()
}
