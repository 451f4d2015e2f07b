// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import "github.com/seed-3c7e7623/camd/ros2/cdr"

// Header is std_msgs/msg/Header.
type Header struct {
	Stamp   Time   // of acquisition
	FrameID string // of the coordinate frame, without a leading slash
}

func (m *Header) write(w *cdr.Writer) {
	m.Stamp.write(w)
	w.String(m.FrameID)
}

func (m *Header) read(r *cdr.Reader) {
	m.Stamp.read(r)
	r.StringInto(&m.FrameID)
}

// AppendCDR appends the message to b.
func (m *Header) AppendCDR(b []byte) []byte {
	w := cdr.NewWriter(b)
	m.write(&w)
	return w.Buf
}

// DecodeCDR reads the message from b.
func (m *Header) DecodeCDR(b []byte) error {
	r := cdr.NewReader(b)
	m.read(&r)
	return r.End()
}
