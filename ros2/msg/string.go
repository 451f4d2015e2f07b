// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import "github.com/seed-3c7e7623/camd/ros2/cdr"

// String is std_msgs/msg/String.
type String struct {
	Data string
}

// AppendCDR appends the message to b.
func (m *String) AppendCDR(b []byte) []byte {
	w := cdr.NewWriter(b)
	w.String(m.Data)
	return w.Buf
}

// DecodeCDR reads the message from b.
func (m *String) DecodeCDR(b []byte) error {
	r := cdr.NewReader(b)
	r.StringInto(&m.Data)
	return r.End()
}
