// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import "github.com/seed-3c7e7623/camd/ros2/cdr"

// Datatypes of a [PointField].
const (
	PointInt8    = 1
	PointUint8   = 2
	PointInt16   = 3
	PointUint16  = 4
	PointInt32   = 5
	PointUint32  = 6
	PointFloat32 = 7
	PointFloat64 = 8
)

// PointField is sensor_msgs/msg/PointField: one value of a point.
type PointField struct {
	Name     string
	Offset   uint32 // bytes from the point's begin
	Datatype uint8  // PointFloat32, …
	Count    uint32
}

// PointCloud2 is sensor_msgs/msg/PointCloud2.
type PointCloud2 struct {
	Header      Header
	Height      uint32 // 1 if the points have no order
	Width       uint32 // points in a row
	Fields      []PointField
	IsBigendian bool
	PointStep   uint32 // bytes from point to point
	RowStep     uint32 // bytes from row to row
	Data        []byte // RowStep × Height bytes
	IsDense     bool   // no point is invalid
}

// pointFieldLen is the least that a PointField takes: an empty name, and gaps.
const pointFieldLen = 20

func (m *PointField) write(w *cdr.Writer) {
	w.String(m.Name)
	w.Uint32(m.Offset)
	w.Uint8(m.Datatype)
	w.Uint32(m.Count)
}

func (m *PointField) read(r *cdr.Reader) {
	r.StringInto(&m.Name)
	m.Offset = r.Uint32()
	m.Datatype = r.Uint8()
	m.Count = r.Uint32()
}

// AppendCDR appends the message to b.
func (m *PointField) AppendCDR(b []byte) []byte {
	w := cdr.NewWriter(b)
	m.write(&w)
	return w.Buf
}

// DecodeCDR reads the message from b.
func (m *PointField) DecodeCDR(b []byte) error {
	r := cdr.NewReader(b)
	m.read(&r)
	return r.End()
}

// AppendCDR appends the message to b.
func (m *PointCloud2) AppendCDR(b []byte) []byte {
	w := cdr.NewWriter(b)
	m.Header.write(&w)
	w.Uint32(m.Height)
	w.Uint32(m.Width)
	w.Len(len(m.Fields))
	for i := range m.Fields {
		m.Fields[i].write(&w)
	}
	w.Bool(m.IsBigendian)
	w.Uint32(m.PointStep)
	w.Uint32(m.RowStep)
	w.Bytes(m.Data)
	w.Bool(m.IsDense)
	return w.Buf
}

// DecodeCDR reads the message from b. Data is a part of b.
func (m *PointCloud2) DecodeCDR(b []byte) error {
	r := cdr.NewReader(b)
	m.Header.read(&r)
	m.Height = r.Uint32()
	m.Width = r.Uint32()
	m.Fields = resize(m.Fields, r.Len(pointFieldLen))
	for i := range m.Fields {
		m.Fields[i].read(&r)
	}
	m.IsBigendian = r.Bool()
	m.PointStep = r.Uint32()
	m.RowStep = r.Uint32()
	m.Data = r.Bytes()
	m.IsDense = r.Bool()
	return r.End()
}

// resize returns s with n elements. Those in its memory keep what they hold,
// for their strings and slices to be reused.
func resize[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	grown := make([]T, n)
	copy(grown, s[:cap(s)])
	return grown
}
