// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import "github.com/seed-3c7e7623/camd/ros2/cdr"

// Vector3 is geometry_msgs/msg/Vector3.
type Vector3 struct {
	X, Y, Z float64
}

// Quaternion is geometry_msgs/msg/Quaternion, a rotation.
type Quaternion struct {
	X, Y, Z, W float64
}

// Transform is geometry_msgs/msg/Transform; the translation is in metres.
type Transform struct {
	Translation Vector3
	Rotation    Quaternion
}

// TransformStamped is geometry_msgs/msg/TransformStamped: where the frame
// ChildFrameID lies in the frame Header.FrameID.
type TransformStamped struct {
	Header       Header
	ChildFrameID string
	Transform    Transform
}

func (m *Vector3) write(w *cdr.Writer) {
	w.Float64(m.X)
	w.Float64(m.Y)
	w.Float64(m.Z)
}

func (m *Vector3) read(r *cdr.Reader) {
	m.X = r.Float64()
	m.Y = r.Float64()
	m.Z = r.Float64()
}

func (m *Quaternion) write(w *cdr.Writer) {
	w.Float64(m.X)
	w.Float64(m.Y)
	w.Float64(m.Z)
	w.Float64(m.W)
}

func (m *Quaternion) read(r *cdr.Reader) {
	m.X = r.Float64()
	m.Y = r.Float64()
	m.Z = r.Float64()
	m.W = r.Float64()
}

func (m *TransformStamped) write(w *cdr.Writer) {
	m.Header.write(w)
	w.String(m.ChildFrameID)
	m.Transform.Translation.write(w)
	m.Transform.Rotation.write(w)
}

func (m *TransformStamped) read(r *cdr.Reader) {
	m.Header.read(r)
	r.StringInto(&m.ChildFrameID)
	m.Transform.Translation.read(r)
	m.Transform.Rotation.read(r)
}

// AppendCDR appends the message to b.
func (m *TransformStamped) AppendCDR(b []byte) []byte {
	w := cdr.NewWriter(b)
	m.write(&w)
	return w.Buf
}

// DecodeCDR reads the message from b.
func (m *TransformStamped) DecodeCDR(b []byte) error {
	r := cdr.NewReader(b)
	m.read(&r)
	return r.End()
}
