// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

// maxMessage is the largest ROS message that is taken, in bytes: more than any
// camera sends, and what a hostile publisher can make the program hold for each
// frame.
const maxMessage = 256 << 20

// picture is an image message, read. data lies in the message.
type picture struct {
	data     []byte
	geometry frame.Geometry
	stamp    int64  // of the header, CLOCK_REALTIME in nanoseconds; 0: not set
	frameID  string // of the header
}

// decoder reads messages of one type. Of what two messages share nothing is
// allocated for the second.
type decoder struct {
	compressed bool
	image      msg.Image
	file       msg.CompressedImage
}

// decode reads one message, of sensor_msgs/msg/Image or CompressedImage in CDR.
func (d *decoder) decode(b []byte) (picture, *ignored) {
	if len(b) > maxMessage {
		return picture{}, ignore(IgnoredSize, "message of %d bytes, at most %d are taken", len(b), maxMessage)
	}
	if d.compressed {
		return d.decodeFile(b)
	}
	m := &d.image
	err := m.DecodeCDR(b)
	p := picture{data: m.Data, stamp: m.Header.Stamp.Nanos(), frameID: m.Header.FrameID}
	m.Data = nil
	if err != nil {
		return picture{}, ignore(IgnoredCDR, "%w", err)
	}
	e, ok := rosEncodings[m.Encoding]
	if !ok {
		return picture{}, ignore(IgnoredEncoding, "encoding %.64q is not carried", m.Encoding)
	}
	if m.IsBigendian != 0 && e == frame.Float32 {
		return picture{}, ignore(IgnoredEncoding, "big-endian %s is not carried", e)
	}
	if m.Height == 0 || m.Width == 0 || m.Height > frame.MaxSide || m.Width > frame.MaxSide || m.Step == 0 || m.Step > frame.MaxBytes {
		return picture{}, ignore(IgnoredGeometry, "%dx%d %s with a step of %d bytes", m.Width, m.Height, m.Encoding, m.Step)
	}
	g, err := frame.NewGeometryStep(e, int(m.Width), int(m.Height), int(m.Step))
	if err != nil {
		return picture{}, ignore(IgnoredGeometry, "%w", err)
	}
	// Of samples of one byte the flag says nothing, and some drivers set it.
	g.BigEndian = m.IsBigendian != 0 && e.Wide()
	if len(p.data) != g.Size() {
		return picture{}, ignore(IgnoredGeometry, "%d bytes of data, %v with a step of %d bytes takes %d", len(p.data), g, g.Step, g.Size())
	}
	p.geometry = g
	return p, nil
}

func (d *decoder) decodeFile(b []byte) (picture, *ignored) {
	m := &d.file
	err := m.DecodeCDR(b)
	p := picture{data: m.Data, stamp: m.Header.Stamp.Nanos(), frameID: m.Header.FrameID}
	m.Data = nil
	if err != nil {
		return picture{}, ignore(IgnoredCDR, "%w", err)
	}
	e, width, height, err := fileSize(p.data)
	if errors.Is(err, errNoPicture) {
		return picture{}, ignore(IgnoredEncoding, "format %.64q, and data that are neither JPEG nor PNG", m.Format)
	}
	if err == nil {
		p.geometry, err = frame.NewCompressed(e, width, height, maxMessage)
	}
	if err != nil {
		return picture{}, ignore(IgnoredPicture, "format %.64q: %w", m.Format, err)
	}
	return p, nil
}

// rosEncodings are the names in sensor_msgs/msg/Image (image_encodings.hpp of
// sensor_msgs, with the deprecated spellings yuv422 and yuv422_yuy2) of what
// frames can carry. Names such as 8UC3 of OpenCV's say nothing about colours:
// cv_bridge takes them for BGR.
var rosEncodings = func() map[string]frame.Encoding {
	m := map[string]frame.Encoding{
		"uyvy": frame.YUV422UYVY, "yuyv": frame.YUV422YUY2,
		"8UC1": frame.Mono8, "8UC3": frame.BGR8, "8UC4": frame.BGRA8,
	}
	foreign := []frame.Encoding{frame.Float32, frame.RGB16, frame.BGR16, frame.RGBA16, frame.BGRA16, frame.NV21}
	for _, e := range append(frame.Encodings(), foreign...) {
		if !e.Compressed() && e != frame.Y8I && e != frame.Y12I {
			m[string(e)] = e
		}
	}
	return m
}()
