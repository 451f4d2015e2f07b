// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import "github.com/seed-3c7e7623/camd/ros2/cdr"

// TFMessage is tf2_msgs/msg/TFMessage.
type TFMessage struct {
	Transforms []TransformStamped
}

// transformLen is the least that a TransformStamped takes: 8 bytes of stamp,
// two empty strings, and seven float64.
const transformLen = 8 + 2*5 + 7*8

// AppendCDR appends the message to b.
func (m *TFMessage) AppendCDR(b []byte) []byte {
	w := cdr.NewWriter(b)
	w.Len(len(m.Transforms))
	for i := range m.Transforms {
		m.Transforms[i].write(&w)
	}
	return w.Buf
}

// DecodeCDR reads the message from b.
func (m *TFMessage) DecodeCDR(b []byte) error {
	r := cdr.NewReader(b)
	m.Transforms = resize(m.Transforms, r.Len(transformLen))
	for i := range m.Transforms {
		m.Transforms[i].read(&r)
	}
	return r.End()
}
