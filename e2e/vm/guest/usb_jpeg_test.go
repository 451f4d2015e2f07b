// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	std "image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/e2e/vm/usbcam"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/jpeg"
)

// photos are different JPEGs of a size. Every other one has no Huffman tables,
// as those of many webcams.
func photos(t *testing.T, s usbcam.Size, n int) [][]byte {
	t.Helper()
	var list [][]byte
	for i := range n {
		m := image.NewRGBA(image.Rect(0, 0, s.Width, s.Height))
		for y := range s.Height {
			for x := range s.Width {
				m.SetRGBA(x, y, color.RGBA{byte(x + 16*i), byte(y), byte(x + y), 255})
			}
		}
		var b bytes.Buffer
		if err := std.Encode(&b, m, nil); err != nil {
			t.Fatal(err)
		}
		data := b.Bytes()
		for i%2 == 1 {
			at := bytes.Index(data, []byte{0xff, 0xc4})
			if at < 0 {
				break
			}
			end := at + 2 + int(data[at+2])<<8 + int(data[at+3])
			data = append(bytes.Clone(data[:at]), data[end:]...)
		}
		list = append(list, data)
	}
	return list
}

// photoCamera has MJPG. Of five frames one is cut and one is garbage, if faulty.
func photoCamera(t *testing.T, serial string, faulty bool) (c usbcam.Camera, good [][]byte) {
	t.Helper()
	c = usbCamera(serial)
	c.Sizes = []usbcam.Size{{Width: 160, Height: 120}}
	good = photos(t, c.Sizes[0], 6)
	c.JPEG = func(n int, _ usbcam.Size) []byte {
		data := good[n%len(good)]
		switch {
		case faulty && n%5 == 3:
			return data[:len(data)/2]
		case faulty && n%5 == 4:
			return bytes.Repeat([]byte("garbage "), 500)
		}
		return data
	}
	return c, good
}

func TestUSBMotionJPEG(t *testing.T) {
	for _, c := range []struct {
		name, options string
		encoding      frame.Encoding
		copies        bool
	}{
		{"userptr", "memory=userptr,encoding=jpeg", frame.BGR8, false},
		{"mmap", "memory=mmap,encoding=jpeg", frame.BGR8, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cam, good := photoCamera(t, "MJPG", true)
			plug(t, cam, 0)
			d, err := jpeg.NewDecoder(jpeg.Auto)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			var last []byte
			var number uint64
			look := func(f capturetest.Frame) bool {
				switch f.Stream {
				case "color/jpeg":
					last, number = bytes.Clone(f.Data[:f.Stamp.Bytes]), f.Stamp.DriverSequence
					if containsFrame(good, last) {
						return true
					}
					t.Errorf("frame %d of %d bytes is none that the camera sent whole", number, len(last))
				case "color":
					g := f.Format.Geometry
					want := make([]byte, g.Size())
					if err := d.Decode(want, g, last); err != nil || !bytes.Equal(f.Data, want) || g.Encoding != c.encoding || f.Stamp.DriverSequence != number {
						t.Errorf("picture %d, %v, of frame %d: %v, or another picture", f.Stamp.DriverSequence, g, number, err)
					}
				}
				return !t.Failed()
			}
			const frames = 40 // of both streams
			got := take(t, "cam=v4l2:"+byID("MJPG")+",160x120@30,strict=true,"+c.options, frames, look)
			got.need(t, frames)
			for i := 0; i < frames; i += 2 {
				if (got.stamps[i].CopiedBytes != 0) != c.copies {
					t.Errorf("frame %d: %d bytes copied", i, got.stamps[i].CopiedBytes)
				}
			}
			// Twenty good frames span at least five of each fault, on two streams.
			for _, reason := range []capture.DropReason{"damaged_truncated", "damaged_not_jpeg"} {
				if got.stats.Dropped[reason] < 10 {
					t.Errorf("%v dropped, want at least 10 of %s", got.stats.Dropped, reason)
				}
			}
		})
	}
}

// An encoding that the camera lacks is converted or decoded, and that is said;
// one that nothing becomes is refused.
func TestUSBOtherEncoding(t *testing.T) {
	cam := usbCamera("CONV")
	cam.Chroma = 77
	plug(t, cam, 0)
	s := source(t, "cam=v4l2:"+byID("CONV")+",320x240,encoding=uyvy")
	got := run(t, s, 10, func(f capturetest.Frame) bool {
		for i := 0; i+1 < len(f.Data); i += 2 {
			if f.Data[i] != 77 || f.Data[i+1] != f.Data[1] {
				t.Errorf("byte %d is %d %d", i, f.Data[i], f.Data[i+1])
				return false
			}
		}
		return true
	})
	got.need(t, 10)
	if e := got.format.Geometry.Encoding; e != frame.YUV422UYVY || got.stamps[0].CopiedBytes == 0 {
		t.Errorf("%s, %d bytes copied", e, got.stamps[0].CopiedBytes)
	}
	if !strings.Contains(s.Describe(), "yuv422 is converted from yuv422_yuy2 (YUYV)") {
		t.Errorf("described as %q", s.Describe())
	}
	refused := take(t, "cam=v4l2:"+byID("CONV")+",320x240,encoding=jpeg", 1, nil)
	if !errors.Is(refused.err, capture.ErrFormatRefused) || !strings.Contains(refused.err.Error(), "asked for jpeg, the camera offers yuv422_yuy2 (YUYV)") {
		t.Errorf("%v", refused.err)
	}
}

// A webcam's JPEG reaches camsub as the camera sent it, without a copy.
func TestDaemonMotionJPEG(t *testing.T) {
	cam, good := photoCamera(t, "SHOT", false)
	plug(t, cam, 0)
	plain := usbCamera("GREY")
	plug(t, plain, 1)
	startCamd(t, "shot=v4l2:"+byID("SHOT")+",160x120,encoding=jpeg", "rgb=v4l2:"+byID("GREY")+",320x240,encoding=rgb8")
	for stream, copies := range map[string]float64{"shot/color/jpeg": 0, "rgb/color": 1} {
		v := verify(t, stream, "20")
		if v.Verify.Frames == 0 || v.Verify.Torn != 0 || v.Verify.Stale != 0 {
			t.Errorf("%s: %+v", stream, v)
		}
		if s := statusOf(t, stream); s.HostCopies != copies || s.Published == 0 {
			t.Errorf("%g copies per frame, want %g: %+v", s.HostCopies, copies, s)
		}
	}
	if s := statusOf(t, "shot/color"); s.Published != 0 {
		t.Errorf("%d pictures were decoded for nobody", s.Published)
	}
	if s := statusOf(t, "rgb/color"); !strings.Contains(s.Source, "rgb8 is converted from yuv422_yuy2 (YUYV)") {
		t.Errorf("the source is shown as %q", s.Source)
	}
	splitter := jpeg.NewSplitter(bytes.NewReader(tool(t, "camsub", "cat", "shot/color/jpeg", "--format", "raw", "--count", "5")), 1<<20)
	n := 0
	for {
		data, err := splitter.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n++
		if !containsFrame(good, data) {
			t.Errorf("frame of %d bytes is none that the camera sent", len(data))
		}
	}
	if n != 5 {
		t.Errorf("%d frames, want 5", n)
	}
	if data := tool(t, "camsub", "snapshot", "shot/color/jpeg", "-o", "-", "--format", "jpeg"); !containsFrame(good, data) {
		t.Errorf("a snapshot of %d bytes, which the camera did not send", len(data))
	}
	// Pictures are decoded once somebody asks for them.
	if c, err := png.DecodeConfig(bytes.NewReader(tool(t, "camsub", "snapshot", "shot/color", "-o", "-", "--format", "png"))); err != nil || c.Width != cam.Sizes[0].Width {
		t.Errorf("%+v, %v", c, err)
	}
}

func containsFrame(list [][]byte, data []byte) bool {
	for _, g := range list {
		if bytes.Equal(g, data) {
			return true
		}
	}
	return false
}
