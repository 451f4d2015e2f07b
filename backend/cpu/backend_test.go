// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

// Whatever lies in the ring, an Image has packed rows of its own step, and the
// pixels that a conversion by itself makes.
func TestImages(t *testing.T) {
	bigEndian := func(g frame.Geometry) frame.Geometry { g.BigEndian = true; return g }
	tenBits := func(g frame.Geometry) frame.Geometry { g.Bits = 10; return g }
	cases := map[string]struct {
		src                 frame.Geometry
		wanted              frame.Encoding
		encoding            string
		copies, conversions uint64
	}{
		"as it lies there":      {geometry(t, frame.RGB8, 64, 48, 0), "", "rgb8", 0, 0},
		"odd sizes":             {geometry(t, frame.BGR8, 61, 3, 0), "", "bgr8", 0, 0},
		"padded":                {geometry(t, frame.RGB8, 61, 7, 9), "", "rgb8", 1, 0},
		"grey, padded":          {geometry(t, frame.Mono8, 33, 5, 31), "", "mono8", 1, 0},
		"four channels":         {geometry(t, frame.BGRA8, 5, 5, 0), "", "bgra8", 0, 0},
		"16 bits":               {geometry(t, frame.Mono16, 31, 9, 0), "", "mono16", 0, 0},
		"ten bits of 16":        {tenBits(geometry(t, frame.Mono16, 31, 9, 0)), "", "mono16", 0, 0},
		"big-endian":            {bigEndian(geometry(t, frame.Mono16, 31, 9, 0)), "", "mono16", 0, 1},
		"big-endian and padded": {bigEndian(geometry(t, frame.Depth16, 31, 9, 6)), "", "16UC1", 0, 1},
		"depth":                 {geometry(t, frame.Depth16, 32, 9, 0), "", "16UC1", 0, 0},
		"depth, padded":         {geometry(t, frame.Depth16, 32, 9, 64), "", "16UC1", 1, 0},
		"4:2:2":                 {geometry(t, frame.YUV422YUY2, 62, 6, 0), "", "rgb8", 0, 1},
		"4:2:2, odd":            {geometry(t, frame.YUV422UYVY, 61, 5, 0), "", "rgb8", 0, 1},
		"4:2:0, odd":            {geometry(t, frame.NV12, 61, 5, 2), "", "rgb8", 0, 1},
		"a mosaic":              {geometry(t, frame.BayerGRBG8, 60, 6, 0), "", "rgb8", 0, 1},
		"chosen as it is":       {geometry(t, frame.YUV422YUY2, 61, 6, 0), frame.YUV422YUY2, "yuv422_yuy2", 0, 0},
		"mosaic as it is":       {geometry(t, frame.BayerGRBG8, 60, 6, 4), frame.BayerGRBG8, "bayer_grbg8", 1, 0},
		"chosen otherwise":      {geometry(t, frame.BGR8, 61, 6, 0), frame.Mono8, "mono8", 0, 1},
		"cannot be had":         {geometry(t, frame.RGB8, 61, 6, 0), frame.NV12, "rgb8", 0, 0},
		"stereo":                {geometry(t, frame.Y8I, 60, 6, 0), "", "mono8", 0, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rg := newRig(t, func(o *Options) { o.Encoding = c.wanted })
			rg.open(c.src)
			image := rg.topic(testTopic)
			data := noise(c.src)
			wall := rg.publish(data)
			s := rg.next(image)
			var m msg.Image
			if err := m.DecodeCDR(s.value); err != nil {
				t.Fatal(err)
			}
			if m.Header.Stamp.Nanos() != wall || m.Header.FrameID != "front_optical_frame" {
				t.Errorf("header %+v, want %d", m.Header, wall)
			}
			if m.Encoding != c.encoding || m.IsBigendian != 0 || int(m.Width) != c.src.Width || int(m.Height) != c.src.Height {
				t.Errorf("%dx%d %s, big-endian %d", m.Width, m.Height, m.Encoding, m.IsBigendian)
			}
			if len(m.Data) != int(m.Step*m.Height) {
				t.Errorf("%d bytes, step %d, height %d", len(m.Data), m.Step, m.Height)
			}
			if want := converted(t, c.src, frame.Encoding(c.encoding), data); !bytes.Equal(m.Data, want) {
				t.Error("other pixels")
			}
			rg.until("it is counted", func() bool { return rg.status(testTopic).Frames == 1 })
			if st := rg.status(testTopic); st.Copies != c.copies || st.Conversions != c.conversions || st.Bytes != uint64(len(s.value)) {
				t.Errorf("status %+v, want %d copies, %d conversions", st, c.copies, c.conversions)
			}
		})
	}
}

func converted(t *testing.T, src frame.Geometry, e frame.Encoding, data []byte) []byte {
	t.Helper()
	dst := geometry(t, e, src.Width, src.Height, 0)
	if e == src.Encoding {
		dst.Bits = src.Bits
	}
	c, err := convert.New(src, dst, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, dst.Size())
	if err := c.Convert(out, data); err != nil {
		t.Fatal(err)
	}
	return out
}

// Nothing is done before somebody subscribes, nor after the last one has gone.
func TestNobodySubscribes(t *testing.T) {
	rg := newRig(t, nil)
	g := geometry(t, frame.YUV422YUY2, 64, 48, 0)
	rg.open(g)
	data := noise(g)
	image := rg.topic(testTopic)
	image.match(false)
	rg.until("all is declared", func() bool { return len(rg.Topics()) == 3 })
	for range 20 {
		rg.publish(data)
	}
	if rg.Wanted() {
		t.Error("frames are wanted")
	}
	image.match(true)
	rg.until("frames are wanted", rg.Wanted)
	rg.next(image)
	rg.publish(data)
	rg.next(image)
	image.match(false)
	if rg.Wanted() {
		t.Error("frames are wanted")
	}
	for range 20 {
		rg.publish(data)
	}
	compressed := rg.topic(testTopic + "/compressed") // a picture of it goes through the goroutine
	rg.publish(data)
	rg.next(compressed)
	if len(image.puts) > 0 {
		t.Error("put without a subscriber")
	}
	if st := rg.status(testTopic); st.Frames != 2 || st.Conversions != 2 || st.Replaced != 0 {
		t.Errorf("status %+v", st)
	}
	if st := rg.status("/front/color/camera_info"); st.Frames != 0 || st.Matched {
		t.Errorf("status %+v", st)
	}
	compressed.match(false)
	rg.until("every slot is free", func() bool {
		u := rg.ring.Usage()
		return u.Free == u.Slots-1
	})
}

// CameraInfo goes with every Image, with the same header bit for bit.
func TestCameraInfo(t *testing.T) {
	rg := newRig(t, func(o *Options) {
		o.Stamp = negotiate.StampPublish
		o.Info = func(w, h int) msg.CameraInfo {
			m := msg.CameraInfo{Width: uint32(w), Height: uint32(h), DistortionModel: "plumb_bob", D: make([]float64, 5)}
			m.K[0] = 500
			return m
		}
	})
	g := geometry(t, frame.Mono8, 64, 48, 0)
	rg.open(g)
	info, image := rg.topic("/front/color/camera_info"), rg.topic(testTopic)
	for range 3 {
		rg.publish(noise(g))
		var m msg.Image
		var i msg.CameraInfo
		if err := m.DecodeCDR(rg.next(image).value); err != nil {
			t.Fatal(err)
		}
		if err := i.DecodeCDR(rg.next(info).value); err != nil {
			t.Fatal(err)
		}
		if i.Header != m.Header || i.Header.Stamp == (msg.Time{}) {
			t.Errorf("headers %+v and %+v", i.Header, m.Header)
		}
		if i.Width != m.Width || i.Height != m.Height || i.K[0] != 500 {
			t.Errorf("info %+v", i)
		}
	}
}

// A new format makes new messages; what is declared stays.
func TestFormatChanges(t *testing.T) {
	rg := newRig(t, nil)
	var image *fakePublisher
	for i, g := range []frame.Geometry{
		geometry(t, frame.RGB8, 64, 48, 0), geometry(t, frame.RGB8, 33, 17, 5), geometry(t, frame.Mono8, 128, 2, 0),
	} {
		rg.open(g)
		if i == 0 {
			image = rg.topic(testTopic)
		}
		data := noise(g)
		rg.publish(data)
		var m msg.Image
		if err := m.DecodeCDR(rg.next(image).value); err != nil {
			t.Fatal(err)
		}
		if int(m.Width) != g.Width || len(m.Data) != int(m.Step*m.Height) || !bytes.Equal(m.Data, converted(t, g, g.Encoding, data)) {
			t.Errorf("%v: %dx%d, step %d, %d bytes", g, m.Width, m.Height, m.Step, len(m.Data))
		}
	}
	if n := strings.Count(strings.Join(rg.session.log, "\n"), "publish "); n != 3 {
		t.Errorf("declared again: %d", n)
	}
}

// Names, tokens, numbers and attachments are those of a node of rmw_zenoh.
func TestGraph(t *testing.T) {
	rg := newRig(t, func(o *Options) { o.QoS = graph.ReliableDepth(10) })
	g := geometry(t, frame.Mono8, 8, 8, 0)
	rg.open(g)
	image := rg.topic(testTopic)
	if image.key != graph.TopicKey(0, testTopic, msg.TypeImage.Name, msg.TypeImage.Hash) || image.o.BestEffort || image.o.Cache != 0 {
		t.Errorf("key %s, options %+v", image.key, image.o)
	}
	rg.topic(testTopic + "/compressed").match(false)
	var publisher graph.Entity
	kinds := ""
	for _, line := range rg.session.log {
		token, ok := strings.CutPrefix(line, "token ")
		if !ok {
			continue
		}
		e, err := graph.ParseToken(token)
		if err != nil {
			t.Fatal(err)
		}
		kinds += e.Kind.String() + " "
		if e.Node != "front" || e.NodeID != 0 {
			t.Errorf("%+v", e)
		}
		if e.Topic == testTopic {
			publisher = e
		}
	}
	if kinds != "NN MP MP MP " || publisher.QoS.String() != "::,10:,:,:,," {
		t.Errorf("tokens %q, QoS %s", kinds, publisher.QoS)
	}
	for i := range int64(3) {
		rg.publish(noise(g))
		a, err := graph.ParseAttachment(rg.next(image).attachment)
		if err != nil || a.Sequence != i+1 || a.GID != publisher.GID() || a.SourceNanos == 0 {
			t.Errorf("%+v, %v", a, err)
		}
	}
	rg.Close()
	if gone := strings.Count(strings.Join(rg.session.log, "\n"), "no token "); gone != 4 || len(rg.session.publishers) != 0 {
		t.Errorf("%d of 4 tokens were taken back, %d publishers are left", gone, len(rg.session.publishers))
	}
}

// Late subscribers of a latched stream get the last message: Zenoh keeps it.
func TestTransientLocal(t *testing.T) {
	rg := newRig(t, func(o *Options) { o.QoS = graph.Latched() })
	g := geometry(t, frame.Mono8, 8, 8, 0)
	rg.open(g)
	image := rg.topic(testTopic)
	rg.publish(noise(g))
	rg.next(image)
	rg.until("it is counted", func() bool { return rg.status(testTopic).Frames == 1 })
	if n := image.forgot.Load(); n != 0 {
		t.Errorf("it was forgotten %d times while somebody subscribed", n)
	}
	if st := rg.status(testTopic); image.o.Cache != 1 || image.o.BestEffort || st.Copies != 1 {
		t.Errorf("options %+v, status %+v", image.o, st)
	}
	// What comes from now on is not kept, so that the last one would grow old.
	image.match(false)
	rg.until("it is forgotten", func() bool { return image.forgot.Load() > 0 })
}

// The stream is there before the session, and says so.
func TestSessionComesLater(t *testing.T) {
	link := &Link{Domain: 7, Namespace: "/robot1"}
	link.Fail("nobody answers")
	b := New(Options{Stream: "front/color", Camera: "front-left", Topic: "/robot1/front_left/color/image_raw", Log: slog.New(slog.DiscardHandler)}, link)
	defer b.Close()
	rg := &rig{t: t, Backend: b, session: &fakeSession{}, link: link}
	g := geometry(t, frame.Mono8, 8, 8, 0)
	rg.open(g)
	defer rg.ring.Retire()
	if c := b.Candidate(); c.Reason != negotiate.ReasonRouterUnreachable || c.Detail != "nobody answers" {
		t.Errorf("%+v", c)
	}
	link.Open(rg.session)
	image := rg.topic("/robot1/front_left/color/image_raw")
	if !strings.HasPrefix(image.key, "7/robot1/front_left/color/image_raw/") {
		t.Errorf("key %s", image.key)
	}
	if c := b.Candidate(); c.Reason != "" {
		t.Errorf("%+v", c)
	}
	err := b.Serve(t.Context(), nil, nil, nil)
	var d *backend.DeclinedError
	if !errors.As(err, &d) || d.Reason != negotiate.ReasonOverZenoh || !strings.Contains(d.Detail, "/robot1/front_left/color/image_raw in domain 7") {
		t.Errorf("%v", err)
	}
	rg.session.down.Store(true)
	if c := b.Candidate(); c.Reason != negotiate.ReasonRouterUnreachable {
		t.Errorf("%+v", c)
	}
}
