// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"bytes"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/jpeg"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

func TestCompressed(t *testing.T) {
	const topic = testTopic + "/compressed"
	t.Run("encoded", func(t *testing.T) {
		for _, e := range []frame.Encoding{frame.RGB8, frame.Mono8, frame.YUV422YUY2} {
			rg := newRig(t, nil)
			g := geometry(t, e, 64, 48, 6)
			rg.open(g)
			compressed := rg.topic(topic)
			wall := rg.publish(make([]byte, g.Size()))
			var m msg.CompressedImage
			if err := m.DecodeCDR(rg.next(compressed).value); err != nil {
				t.Fatal(err)
			}
			if m.Header.Stamp.Nanos() != wall || !strings.HasPrefix(m.Format, string(Target(e))+"; jpeg compressed ") {
				t.Errorf("%s: %+v, %q", e, m.Header, m.Format)
			}
			if i, err := jpeg.Validate(m.Data, jpeg.Limits{}); err != nil || i.Width != 64 || i.Height != 48 || i.Length != len(m.Data) {
				t.Errorf("%s: %+v, %v", e, i, err)
			}
			if st := rg.status(topic); st.Encoded != 1 || st.Copies != 0 {
				t.Errorf("%s: status %+v", e, st)
			}
		}
	})
	t.Run("as captured", func(t *testing.T) {
		rg := newRig(t, func(o *Options) { o.JPEG = true })
		g, err := frame.NewCompressed(frame.JPEG, 64, 48, 4096)
		if err != nil {
			t.Fatal(err)
		}
		rg.open(g)
		compressed := rg.topic(topic)
		for _, n := range []int{700, 4096, 1} {
			data := noise(geometry(t, frame.Mono8, n, 1, 0))
			rg.publish(data)
			var m msg.CompressedImage
			if err := m.DecodeCDR(rg.next(compressed).value); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(m.Data, data) || m.Format != "bgr8; jpeg compressed bgr8" {
				t.Errorf("%d bytes of %d, %q", len(m.Data), n, m.Format)
			}
		}
		if st := rg.status(topic); st.Encoded != 0 || st.Copies != 0 || len(rg.Topics()) != 2 || rg.Topic() != topic {
			t.Errorf("status %+v", rg.Topics())
		}
	})
	t.Run("beside the image", func(t *testing.T) {
		rg := newRig(t, nil)
		g := geometry(t, frame.NV12, 64, 48, 0)
		rg.open(g)
		image, compressed := rg.topic(testTopic), rg.topic(topic)
		rg.publish(noise(g))
		rg.next(image)
		rg.next(compressed)
		if a, b := rg.status(testTopic), rg.status(topic); a.Conversions != 1 || b.Conversions != 0 {
			t.Errorf("%d and %d conversions of one frame", a.Conversions, b.Conversions)
		}
	})
	t.Run("no more than so many", func(t *testing.T) {
		rg := newRig(t, func(o *Options) { o.MaxRate = 10 })
		g := geometry(t, frame.Mono8, 8, 8, 0)
		rg.open(g)
		image, compressed := rg.topic(testTopic), rg.topic(topic)
		for range 31 {
			rg.publish(noise(g))
			rg.next(image)
		}
		rg.until("all were looked at", func() bool { st := rg.status(topic); return st.Frames+st.Skipped == 31 })
		if st := rg.status(topic); st.Encoded != 11 {
			t.Errorf("of 31 frames at 30 a second %d were encoded", st.Encoded)
		}
		if len(compressed.puts) != 11 {
			t.Errorf("%d were put", len(compressed.puts))
		}
	})
	t.Run("not of depth", func(t *testing.T) {
		rg := newRig(t, nil)
		rg.open(geometry(t, frame.Depth16, 8, 8, 0))
		rg.topic("/front/color/camera_info")
		if rg.session.publisher(topic) != nil {
			t.Error("depth is offered as JPEG")
		}
	})
	t.Run("camera_info with it", func(t *testing.T) {
		rg := newRig(t, func(o *Options) { o.JPEG = true })
		g, err := frame.NewCompressed(frame.JPEG, 64, 48, 4096)
		if err != nil {
			t.Fatal(err)
		}
		rg.open(g)
		info := rg.topic("/front/color/camera_info")
		wall := rg.publish([]byte{1, 2, 3})
		var m msg.CameraInfo
		if err := m.DecodeCDR(rg.next(info).value); err != nil || m.Width != 64 || m.Height != 48 || m.Header.Stamp.Nanos() != wall {
			t.Errorf("%+v, %v", m, err)
		}
	})
}
