// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"errors"
	"fmt"
)

// ErrColor reports a matrix or range whose name is not known.
var ErrColor = errors.New("unknown colour description")

// Matrix names the weights of Y'CbCr. "" = not said.
type Matrix string

// The matrices that camd converts.
const (
	BT601  Matrix = "bt601"  // ITU-R BT.601: standard definition, webcams, JPEG
	BT709  Matrix = "bt709"  // ITU-R BT.709: high definition
	BT2020 Matrix = "bt2020" // ITU-R BT.2020, non-constant luminance
)

// Range says which part of the 8 bits luma and chroma use. "" = not said.
type Range string

// The ranges.
const (
	Limited Range = "limited" // Y 16 to 235, Cb and Cr 16 to 240
	Full    Range = "full"    // 0 to 255
)

// Color says what the samples of Y'CbCr mean. It says nothing about RGB, grey,
// Bayer and depth, which use their full range.
type Color struct {
	Matrix Matrix `json:"matrix,omitempty"`
	Range  Range  `json:"range,omitempty"`
}

// OrDefault fills in what is not said: BT.601 limited, which is what webcams
// send, and full for JPEG (JFIF 1.02).
func (c Color) OrDefault(e Encoding) Color {
	if c.Matrix == "" {
		c.Matrix = BT601
	}
	if c.Range == "" {
		c.Range = Limited
		if e == JPEG {
			c.Range = Full
		}
	}
	return c
}

// Validate fails with [ErrColor] unless both parts are known or not said.
func (c Color) Validate() error {
	switch c.Matrix {
	case "", BT601, BT709, BT2020:
	default:
		return fmt.Errorf("%w: matrix %.64q: known are %s, %s, %s", ErrColor, c.Matrix, BT601, BT709, BT2020)
	}
	switch c.Range {
	case "", Limited, Full:
	default:
		return fmt.Errorf("%w: range %.64q: known are %s, %s", ErrColor, c.Range, Limited, Full)
	}
	return nil
}

// String is what logs show, for example "bt601 limited".
func (c Color) String() string {
	matrix, span := c.Matrix, c.Range
	if matrix == "" {
		matrix = "matrix unknown"
	}
	if span == "" {
		span = "range unknown"
	}
	return string(matrix) + " " + string(span)
}

// Values of v4l2_pix_format (linux/videodev2.h).
const (
	v4l2SMPTE240M, v4l2Rec709, v4l2JPEG, v4l2BT2020, v4l2DCIP3 = 2, 3, 7, 10, 12

	v4l2Encoding601, v4l2Encoding709, v4l2EncodingXV601, v4l2EncodingXV709 = 1, 2, 3, 4
	v4l2EncodingBT2020, v4l2EncodingBT2020Const, v4l2EncodingSMPTE240M     = 6, 7, 8

	v4l2FullRange, v4l2LimitedRange = 1, 2
)

// ColorFromV4L2 reads the fields colorspace, ycbcr_enc and quantization of a
// v4l2_pix_format, deriving what is 0 as the macros V4L2_MAP_YCBCR_ENC_DEFAULT
// and V4L2_MAP_QUANTIZATION_DEFAULT do. A matrix that camd does not convert,
// and a colour space of 0, leave "not said". RGB and grey give the zero Color.
func ColorFromV4L2(e Encoding, colorspace, ycbcrEnc, quantization uint32) Color {
	if !e.YUV() && e != JPEG {
		return Color{}
	}
	if e == JPEG {
		// JFIF says it, whatever the driver does.
		return Color{BT601, Full}
	}
	var c Color
	switch ycbcrEnc {
	case v4l2Encoding601, v4l2EncodingXV601:
		c.Matrix = BT601
	case v4l2Encoding709, v4l2EncodingXV709:
		c.Matrix = BT709
	case v4l2EncodingBT2020:
		c.Matrix = BT2020
	case v4l2EncodingBT2020Const, v4l2EncodingSMPTE240M:
	case 0:
		switch colorspace {
		case 0, v4l2SMPTE240M:
		case v4l2Rec709, v4l2DCIP3:
			c.Matrix = BT709
		case v4l2BT2020:
			c.Matrix = BT2020
		default:
			c.Matrix = BT601
		}
	}
	switch quantization {
	case v4l2FullRange:
		c.Range = Full
	case v4l2LimitedRange:
		c.Range = Limited
	case 0:
		switch colorspace {
		case 0:
		case v4l2JPEG:
			c.Range = Full
		default:
			c.Range = Limited
		}
	}
	return c
}
