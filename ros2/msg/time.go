// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"math"

	"github.com/seed-3c7e7623/camd/ros2/cdr"
)

// Time is builtin_interfaces/msg/Time: a time since the Unix epoch (or of a
// simulation).
type Time struct {
	Sec     int32
	Nanosec uint32 // 0 to 999,999,999
}

// TimeOf is the time of Unix nanoseconds. The seconds have 32 bits, until
// 2038-01-19; what lies outside is held at the nearest end.
func TimeOf(unixNanos int64) Time {
	sec, nsec := unixNanos/1e9, unixNanos%1e9
	if nsec < 0 {
		sec, nsec = sec-1, nsec+1e9
	}
	switch {
	case sec > math.MaxInt32:
		return Time{Sec: math.MaxInt32, Nanosec: 999_999_999}
	case sec < math.MinInt32:
		return Time{Sec: math.MinInt32}
	}
	return Time{Sec: int32(sec), Nanosec: uint32(nsec)}
}

// Nanos is the time in Unix nanoseconds.
func (m Time) Nanos() int64 { return int64(m.Sec)*1e9 + int64(m.Nanosec) }

func (m *Time) write(w *cdr.Writer) {
	w.Int32(m.Sec)
	w.Uint32(m.Nanosec)
}

func (m *Time) read(r *cdr.Reader) {
	m.Sec = r.Int32()
	m.Nanosec = r.Uint32()
}

// AppendCDR appends the message to b, 12 bytes.
func (m *Time) AppendCDR(b []byte) []byte {
	w := cdr.NewWriter(b)
	m.write(&w)
	return w.Buf
}

// DecodeCDR reads the message from b.
func (m *Time) DecodeCDR(b []byte) error {
	r := cdr.NewReader(b)
	m.read(&r)
	return r.End()
}
