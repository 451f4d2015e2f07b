// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

func picture6x4(t testing.TB, kind string) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, 6, 4))
	m.SetGray(1, 1, color.Gray{Y: 200})
	var b bytes.Buffer
	var err error
	if kind == "png" {
		err = png.Encode(&b, m)
	} else {
		err = jpeg.Encode(&b, m, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDecodeImage(t *testing.T) {
	for name, tc := range map[string]struct {
		m    msg.Image
		want string // of the geometry, with the step
		step int
	}{
		"rgb8":               {msg.Image{Width: 4, Height: 2, Encoding: "rgb8", Step: 12, Data: make([]byte, 24)}, "4x2 rgb8", 12},
		"padded rows":        {msg.Image{Width: 3, Height: 2, Encoding: "bgr8", Step: 16, Data: make([]byte, 32)}, "3x2 bgr8", 16},
		"odd size":           {msg.Image{Width: 7, Height: 5, Encoding: "mono8", Step: 7, Data: make([]byte, 35)}, "7x5 mono8", 7},
		"odd width of 4:2:2": {msg.Image{Width: 3, Height: 1, Encoding: "yuyv", Step: 8, Data: make([]byte, 8)}, "3x1 yuv422_yuy2", 8},
		"deprecated names":   {msg.Image{Width: 2, Height: 1, Encoding: "yuv422", Step: 4, Data: make([]byte, 4)}, "2x1 yuv422", 4},
		"new name":           {msg.Image{Width: 2, Height: 1, Encoding: "uyvy", Step: 4, Data: make([]byte, 4)}, "2x1 yuv422", 4},
		"16 bit big-endian":  {msg.Image{Width: 2, Height: 2, Encoding: "16UC1", IsBigendian: 1, Step: 4, Data: make([]byte, 8)}, "2x2 16UC1 big-endian", 4},
		"8 bit, flag set":    {msg.Image{Width: 2, Height: 2, Encoding: "rgba8", IsBigendian: 1, Step: 8, Data: make([]byte, 16)}, "2x2 rgba8", 8},
		"nv12 of odd height": {msg.Image{Width: 4, Height: 3, Encoding: "nv12", Step: 4, Data: make([]byte, 20)}, "4x3 nv12", 4},
		"OpenCV's name":      {msg.Image{Width: 2, Height: 1, Encoding: "8UC3", Step: 6, Data: make([]byte, 6)}, "2x1 bgr8", 6},
		"depth in metres":    {msg.Image{Width: 2, Height: 1, Encoding: "32FC1", Step: 8, Data: make([]byte, 8)}, "2x1 32FC1", 8},
		"rgb16":              {msg.Image{Width: 1, Height: 1, Encoding: "rgb16", Step: 6, Data: make([]byte, 6)}, "1x1 rgb16", 6},
	} {
		t.Run(name, func(t *testing.T) {
			var d decoder
			p, bad := d.decode(tc.m.AppendCDR(nil))
			if bad != nil {
				t.Fatal(bad)
			}
			if p.geometry.String() != tc.want || p.geometry.Step != tc.step || len(p.data) != p.geometry.Size() {
				t.Errorf("got %v, step %d, %d bytes", p.geometry, p.geometry.Step, len(p.data))
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := msg.Image{Width: 4, Height: 2, Encoding: "rgb8", Step: 12, Data: make([]byte, 24)}
	image := func(change func(m *msg.Image)) []byte {
		m := good
		change(&m)
		return m.AppendCDR(nil)
	}
	jpg := picture6x4(t, "jpeg")
	file := func(data []byte) []byte { return (&msg.CompressedImage{Format: "jpeg", Data: data}).AppendCDR(nil) }
	whole := good.AppendCDR(nil)
	long := bytes.Clone(whole)
	binary.LittleEndian.PutUint32(long[len(long)-28:], 1<<31)
	for name, tc := range map[string]struct {
		message    []byte
		compressed bool
		want       IgnoreReason
	}{
		"nothing":                          {nil, false, IgnoredCDR},
		"another encapsulation":            {append([]byte{0, 9, 0, 0}, whole[4:]...), false, IgnoredCDR},
		"cut off":                          {whole[:len(whole)-1], false, IgnoredCDR},
		"count beyond the end":             {long, false, IgnoredCDR},
		"more than said":                   {append(bytes.Clone(whole), 1, 2, 3, 4), false, IgnoredCDR},
		"unknown encoding":                 {image(func(m *msg.Image) { m.Encoding = "8UC7" }), false, IgnoredEncoding},
		"a name of ours only":              {image(func(m *msg.Image) { m.Encoding = "y12i" }), false, IgnoredEncoding},
		"big-endian floats":                {image(func(m *msg.Image) { m.Encoding, m.IsBigendian = "32FC1", 1 }), false, IgnoredEncoding},
		"too few bytes":                    {image(func(m *msg.Image) { m.Data = m.Data[:23] }), false, IgnoredGeometry},
		"too many bytes":                   {image(func(m *msg.Image) { m.Data = make([]byte, 25) }), false, IgnoredGeometry},
		"no step":                          {image(func(m *msg.Image) { m.Step = 0 }), false, IgnoredGeometry},
		"step below a row":                 {image(func(m *msg.Image) { m.Step, m.Data = 11, make([]byte, 22) }), false, IgnoredGeometry},
		"no rows":                          {image(func(m *msg.Image) { m.Height, m.Data = 0, nil }), false, IgnoredGeometry},
		"absurd":                           {image(func(m *msg.Image) { m.Width, m.Height, m.Step = 1<<31, 1<<31, 1<<31 }), false, IgnoredGeometry},
		"an overflow of step times height": {image(func(m *msg.Image) { m.Width, m.Height, m.Step, m.Data = 1, 1<<16, 1<<16, nil }), false, IgnoredGeometry},
		"too large":                        {make([]byte, maxMessage+1), false, IgnoredSize},
		"no picture file":                  {file([]byte("GIF89a")), true, IgnoredEncoding},
		"an empty file":                    {file(nil), true, IgnoredEncoding},
		"JPEG cut in its head":             {file(jpg[:20]), true, IgnoredPicture},
		"JPEG of no size":                  {file([]byte{0xff, 0xd8, 0xff, 0xc0, 0, 11, 8, 0, 0, 0, 6, 1, 1, 0x11, 0}), true, IgnoredPicture},
		"PNG cut in its head":              {file(picture6x4(t, "png")[:20]), true, IgnoredPicture},
	} {
		t.Run(name, func(t *testing.T) {
			d := decoder{compressed: tc.compressed}
			p, bad := d.decode(tc.message)
			if bad == nil || bad.reason != tc.want {
				t.Errorf("got %v, %v; want %s", p.geometry, bad, tc.want)
			}
		})
	}
}

func TestDecodeCompressed(t *testing.T) {
	for kind, want := range map[string]string{"jpeg": "6x4 jpeg", "png": "6x4 png"} {
		data := picture6x4(t, kind)
		d := decoder{compressed: true}
		p, bad := d.decode((&msg.CompressedImage{Format: "mono8; " + kind + " compressed ", Data: data}).AppendCDR(nil))
		if bad != nil || p.geometry.String() != want || !bytes.Equal(p.data, data) {
			t.Errorf("%s: got %v, %v", kind, p.geometry, bad)
		}
	}
	// A thumbnail in EXIF comes before the frame header, and is not it.
	jpg := picture6x4(t, "jpeg")
	app := append([]byte{0xff, 0xe1, 0, byte(2 + len(jpg)%200)}, make([]byte, len(jpg)%200)...)
	e, w, h, err := fileSize(append(append([]byte{0xff, 0xd8}, app...), jpg[2:]...))
	if e != frame.JPEG || w != 6 || h != 4 || err != nil {
		t.Errorf("behind an APP1: %s %dx%d, %v", e, w, h, err)
	}
}

// Whatever comes is either refused or a frame whose bytes fit its geometry, and
// lie in the message.
func FuzzDecode(f *testing.F) {
	stamp := msg.Header{Stamp: msg.Time{Sec: 1, Nanosec: 2}, FrameID: "lens"}
	for _, m := range []msg.Image{
		{Header: stamp, Width: 4, Height: 2, Encoding: "rgb8", Step: 12, Data: make([]byte, 24)},
		{Header: stamp, Width: 3, Height: 3, Encoding: "nv12", Step: 6, Data: make([]byte, 30)},
		{Header: stamp, Width: 1, Height: 2, Encoding: "16UC1", IsBigendian: 1, Step: 5, Data: make([]byte, 10)},
		{Header: stamp, Width: 1 << 16, Height: 1 << 16, Encoding: "mono8", Step: 1 << 16},
	} {
		f.Add(m.AppendCDR(nil), false)
	}
	for _, kind := range []string{"jpeg", "png"} {
		f.Add((&msg.CompressedImage{Header: stamp, Format: kind, Data: picture6x4(f, kind)}).AppendCDR(nil), true)
	}
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 1}, false)
	f.Fuzz(func(t *testing.T, message []byte, compressed bool) {
		d := decoder{compressed: compressed}
		p, bad := d.decode(message)
		if bad != nil {
			if bad.reason == "" || bad.err == nil {
				t.Fatalf("refused without a reason: %v", bad)
			}
			return
		}
		if err := p.geometry.Validate(); err != nil {
			t.Fatal(err)
		}
		if p.geometry.Compressed() != compressed || len(p.data) < p.geometry.MinBytes() || len(p.data) > p.geometry.Size() {
			t.Fatalf("%v with %d bytes", p.geometry, len(p.data))
		}
		if !bytes.Contains(message, p.data) {
			t.Fatal("data from elsewhere")
		}
	})
}
