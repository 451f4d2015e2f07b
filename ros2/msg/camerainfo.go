// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import "github.com/seed-3c7e7623/camd/ros2/cdr"

// RegionOfInterest is sensor_msgs/msg/RegionOfInterest, in pixels of the full
// picture without binning. All zero means the full picture.
type RegionOfInterest struct {
	XOffset   uint32
	YOffset   uint32
	Height    uint32
	Width     uint32
	DoRectify bool
}

// CameraInfo is sensor_msgs/msg/CameraInfo: the calibration that belongs to
// the picture with the same stamp. K[0] == 0 means that there is none.
type CameraInfo struct {
	Header          Header
	Height          uint32 // rows of the picture for which K and P hold
	Width           uint32
	DistortionModel string      // "plumb_bob", "rational_polynomial", "equidistant"
	D               []float64   // distortion, as many as the model has
	K               [9]float64  // 3×3, row by row, pixels
	R               [9]float64  // 3×3, row by row
	P               [12]float64 // 3×4, row by row, pixels
	BinningX        uint32      // 0 means 1
	BinningY        uint32
	ROI             RegionOfInterest
}

func (m *RegionOfInterest) write(w *cdr.Writer) {
	w.Uint32(m.XOffset)
	w.Uint32(m.YOffset)
	w.Uint32(m.Height)
	w.Uint32(m.Width)
	w.Bool(m.DoRectify)
}

func (m *RegionOfInterest) read(r *cdr.Reader) {
	m.XOffset = r.Uint32()
	m.YOffset = r.Uint32()
	m.Height = r.Uint32()
	m.Width = r.Uint32()
	m.DoRectify = r.Bool()
}

// AppendCDR appends the message to b.
func (m *RegionOfInterest) AppendCDR(b []byte) []byte {
	w := cdr.NewWriter(b)
	m.write(&w)
	return w.Buf
}

// DecodeCDR reads the message from b.
func (m *RegionOfInterest) DecodeCDR(b []byte) error {
	r := cdr.NewReader(b)
	m.read(&r)
	return r.End()
}

// AppendCDR appends the message to b.
func (m *CameraInfo) AppendCDR(b []byte) []byte {
	w := cdr.NewWriter(b)
	m.Header.write(&w)
	w.Uint32(m.Height)
	w.Uint32(m.Width)
	w.String(m.DistortionModel)
	w.Float64s(m.D)
	w.Float64Array(m.K[:])
	w.Float64Array(m.R[:])
	w.Float64Array(m.P[:])
	w.Uint32(m.BinningX)
	w.Uint32(m.BinningY)
	m.ROI.write(&w)
	return w.Buf
}

// DecodeCDR reads the message from b.
func (m *CameraInfo) DecodeCDR(b []byte) error {
	r := cdr.NewReader(b)
	m.Header.read(&r)
	m.Height = r.Uint32()
	m.Width = r.Uint32()
	r.StringInto(&m.DistortionModel)
	m.D = r.Float64s(m.D[:0])
	r.Float64Array(m.K[:])
	r.Float64Array(m.R[:])
	r.Float64Array(m.P[:])
	m.BinningX = r.Uint32()
	m.BinningY = r.Uint32()
	m.ROI.read(&r)
	return r.End()
}
