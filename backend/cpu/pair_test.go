// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

const (
	testInfo = "/front/color/camera_info"
	testJPEG = testTopic + "/compressed"
)

// pairOf are the streams of a camera that delivers JPEG; pictures says what is
// decoded from it is published as, jpeg the other.
func pairOf(t *testing.T, sameInfo bool, pictures, packed func(*Options)) (decoded, captured *rig) {
	t.Helper()
	decoded = newRig(t, pictures)
	captured = decoded.beside(t, func(o *Options) {
		o.JPEG, o.Topic = true, testTopic
		packed(o)
	})
	decoded.open(geometry(t, frame.BGR8, 8, 8, 0)) // before it is known that there is the other
	Pair(captured.Backend, decoded.Backend, sameInfo)
	g, err := frame.NewCompressed(frame.JPEG, 8, 8, 4096)
	if err != nil {
		t.Fatal(err)
	}
	captured.open(g)
	return decoded, captured
}

func infoOf(t *testing.T, s sample) msg.CameraInfo {
	t.Helper()
	var m msg.CameraInfo
	if err := m.DecodeCDR(s.value); err != nil {
		t.Fatal(err)
	}
	return m
}

// The camera's JPEG has the topic of compressed pictures, and camera_info goes
// with the images where somebody has these, with the JPEG else.
func TestPair(t *testing.T) {
	as := func(id string, s negotiate.Stamp) func(*Options) {
		return func(o *Options) { o.FrameID, o.Stamp = id, s }
	}
	// The frame ids differ only for the test, to see who published.
	decoded, captured := pairOf(t, true, as("of_image", negotiate.StampPublish), as("of_jpeg", negotiate.StampCapture))
	info, compressed := decoded.topic(testInfo), captured.topic(testJPEG)
	compressed.match(false)
	if n := len(decoded.Topics()); n != 2 {
		t.Errorf("%d topics of the decoded stream: %+v", n, decoded.Topics())
	}
	captured.until("the JPEG is wanted for camera_info", captured.Wanted)
	if decoded.Wanted() {
		t.Error("frames are decoded for camera_info alone")
	}
	for range 3 {
		wall := captured.publish([]byte{1, 2, 3})
		if m := infoOf(t, captured.next(info)); m.Header.Stamp.Nanos() != wall || m.Header.FrameID != "of_jpeg" || m.Width != 8 {
			t.Errorf("%+v, want the time %d", m.Header, wall)
		}
	}
	image := decoded.topic(testTopic)
	decoded.until("frames are decoded for images, and the JPEG is not wanted for them", func() bool { return decoded.Wanted() && !captured.Wanted() })
	compressed.match(true)
	data := make([]byte, 8*8*3)
	for range 3 {
		captured.publish([]byte{1, 2, 3})
		captured.next(compressed)
		decoded.publish(data)
		var m msg.Image
		if err := m.DecodeCDR(decoded.next(image).value); err != nil {
			t.Fatal(err)
		}
		if i := infoOf(t, decoded.next(info)); i.Header != m.Header || i.Header.FrameID != "of_image" {
			t.Errorf("headers %+v and %+v", i.Header, m.Header)
		}
	}
	image.match(false)
	wall := captured.publish([]byte{1, 2, 3})
	if m := infoOf(t, captured.next(info)); m.Header.Stamp.Nanos() != wall || m.Header.FrameID != "of_jpeg" || len(info.puts) != 0 {
		t.Errorf("%+v, and %d more", m.Header, len(info.puts))
	}
	captured.Close()
	decoded.until("frames are decoded for camera_info", decoded.Wanted)
	decoded.publish(data)
	if m := infoOf(t, decoded.next(info)); m.Header.FrameID != "of_image" {
		t.Errorf("%+v", m.Header)
	}
}

// What would be another camera_info goes with the images alone.
func TestPairWithAnotherInfo(t *testing.T) {
	decoded, captured := pairOf(t, false, nil, func(*Options) {})
	decoded.topic(testInfo)
	captured.topic(testJPEG).match(false)
	captured.until("it has its JPEG alone, and nobody wants that", func() bool {
		return decoded.Wanted() && !captured.Wanted() && len(captured.Topics()) == 1
	})
}

// Topics are shared only where they are the same.
func TestPairOfOtherTopics(t *testing.T) {
	for name, c := range map[string]struct {
		image, packed string
		have          []string // of the decoded stream, and of the JPEG
		of            []string
	}{
		"image elsewhere": {
			"/eyes/image_raw", testTopic,
			[]string{"/eyes/image_raw", "/eyes/camera_info", "/eyes/image_raw/compressed"},
			[]string{testInfo, testJPEG},
		},
		"JPEG elsewhere": {
			testTopic, "/eyes/image_raw",
			[]string{testTopic, testInfo, testJPEG},
			[]string{"/eyes/camera_info", "/eyes/image_raw/compressed"},
		},
		"side by side": {
			"/front/color/image_rect", testTopic,
			[]string{"/front/color/image_rect", testInfo, "/front/color/image_rect/compressed"},
			[]string{testJPEG},
		},
	} {
		t.Run(name, func(t *testing.T) {
			decoded, captured := pairOf(t, true, func(o *Options) { o.Topic = c.image }, func(o *Options) { o.Topic = c.packed })
			for _, one := range []struct {
				*rig
				want []string
			}{{decoded, c.have}, {captured, c.of}} {
				one.until("its topics are there", func() bool {
					l := one.Topics()
					if len(l) != len(one.want) {
						return false
					}
					for i, x := range l {
						if x.Topic != one.want[i] || x.Problem != "" {
							return false
						}
					}
					return true
				})
			}
		})
	}
}

// A calibration on a disk that does not answer holds up neither pictures nor the
// end.
func TestCalibrationHangs(t *testing.T) {
	answer := make(chan struct{})
	rg := newRig(t, func(o *Options) {
		o.Info = func(w, h int) msg.CameraInfo {
			<-answer
			return msg.CameraInfo{Width: uint32(w), Height: uint32(h), DistortionModel: "plumb_bob"}
		}
	})
	g := geometry(t, frame.Mono8, 8, 8, 0)
	rg.open(g)
	image, info := rg.topic(testTopic), rg.topic(testInfo)
	rg.publish(noise(g))
	rg.next(image)
	if len(info.puts) != 0 {
		t.Error("camera_info of an unknown calibration")
	}
	two := rg.beside(t, func(o *Options) { o.Topic = "/other/image_raw" })
	two.open(g)
	two.topic("/other/image_raw")
	two.Close()
	close(answer)
	wall := int64(0)
	for m := (msg.CameraInfo{}); m.DistortionModel == ""; {
		wall = rg.publish(noise(g))
		rg.next(image)
		select {
		case s := <-info.puts:
			m = infoOf(t, s)
			if m.Header.Stamp.Nanos() != wall {
				t.Errorf("%+v, want the time %d", m.Header, wall)
			}
		default:
		}
	}
}
