// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import "github.com/seed-3c7e7623/camd/ros2/cdr"

// Imu is sensor_msgs/msg/Imu. The covariances are 3×3, row by row; −1 in the
// first place says that there is no such estimate.
type Imu struct {
	Header                       Header
	Orientation                  Quaternion
	OrientationCovariance        [9]float64
	AngularVelocity              Vector3 // rad/s
	AngularVelocityCovariance    [9]float64
	LinearAcceleration           Vector3 // m/s²
	LinearAccelerationCovariance [9]float64
}

// AppendCDR appends the message to b.
func (m *Imu) AppendCDR(b []byte) []byte {
	w := cdr.NewWriter(b)
	m.Header.write(&w)
	m.Orientation.write(&w)
	w.Float64Array(m.OrientationCovariance[:])
	m.AngularVelocity.write(&w)
	w.Float64Array(m.AngularVelocityCovariance[:])
	m.LinearAcceleration.write(&w)
	w.Float64Array(m.LinearAccelerationCovariance[:])
	return w.Buf
}

// DecodeCDR reads the message from b.
func (m *Imu) DecodeCDR(b []byte) error {
	r := cdr.NewReader(b)
	m.Header.read(&r)
	m.Orientation.read(&r)
	r.Float64Array(m.OrientationCovariance[:])
	m.AngularVelocity.read(&r)
	r.Float64Array(m.AngularVelocityCovariance[:])
	m.LinearAcceleration.read(&r)
	r.Float64Array(m.LinearAccelerationCovariance[:])
	return r.End()
}
