// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

func TestTakeOutputs(t *testing.T) {
	usual := output{downscale: 1, stamp: negotiate.StampCapture, frameID: "a_optical_frame", ros: rosOutput{qos: "sensor_data", jpegQuality: 90}}
	with := func(change func(*output)) output {
		o := usual
		change(&o)
		return o
	}
	shm := []negotiate.Backend{negotiate.BackendSHM}
	for _, c := range []struct {
		name, text     string
		color, colorJP output
	}{
		{"nothing said", "", usual, usual},
		{
			"for all",
			`,max_rate=7.5,downscale=4,stamp=publish,frame_id=cam/left,backends=shm\,cpu`,
			output{maxRate: 7.5, downscale: 4, stamp: negotiate.StampPublish, frameID: "cam/left", backends: []negotiate.Backend{"shm", "cpu"}, ros: usual.ros},
			output{maxRate: 7.5, downscale: 4, stamp: negotiate.StampPublish, frameID: "cam/left", backends: []negotiate.Backend{"shm", "cpu"}, ros: usual.ros},
		},
		{"for one", ",streams.color.max_rate=5", with(func(o *output) { o.maxRate = 5 }), usual},
		{
			"for one and the rest", ",max_rate=9,streams.color/jpeg.max_rate=0,streams.color/jpeg.backends=shm",
			with(func(o *output) { o.maxRate = 9 }), with(func(o *output) { o.backends = shm }),
		},
		{"scaled by itself", ",streams.color.downscale=2", with(func(o *output) { o.downscale, o.own = 2, true }), usual},
		{"not scaled by itself", ",downscale=2,streams.color.downscale=1", with(func(o *output) { o.own = true }), with(func(o *output) { o.downscale = 2 })},
		{
			"ROS for all", `,qos=reliable,camera_info=file:///c.yaml,ros_encoding=grey,topic=/cam/image_raw,jpeg.quality=50,jpeg.max_rate=5`,
			with(func(o *output) { o.ros = rosOutput{"reliable", "/c.yaml", 50, 5, frame.Mono8, "/cam/image_raw"} }),
			with(func(o *output) { o.ros = rosOutput{"reliable", "/c.yaml", 50, 5, frame.Mono8, "/cam/image_raw"} }),
		},
		{
			"ROS for one", `,qos=reliable,ros_encoding=bgr8,streams.color.jpeg.quality=1,streams.color.qos=transient_local,streams.color.ros_encoding=auto,streams.color/jpeg.topic=~/x`,
			with(func(o *output) { o.ros = rosOutput{qos: "transient_local", jpegQuality: 1} }),
			with(func(o *output) {
				o.ros = rosOutput{qos: "reliable", jpegQuality: 90, encoding: frame.BGR8, topic: "~/x"}
			}),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := spec(t, "a=replay:x,loop=true"+c.text)
			o, err := takeOutputs(&s)
			if err != nil {
				t.Fatal(err)
			}
			for stream, want := range map[string]output{"color": c.color, "color/jpeg": c.colorJP} {
				if diff := cmp.Diff(want, o.of(stream), cmp.AllowUnexported(output{}, rosOutput{})); diff != "" {
					t.Errorf("%s (-want +got):\n%s", stream, diff)
				}
			}
			if len(s.Options) != 1 || s.Options["loop"] != "true" {
				t.Errorf("left for the source: %v", s.Options)
			}
		})
	}
	for text, want := range map[string]string{
		"max_rate=fast":                      "want a number",
		"max_rate=-1":                        "want a number",
		"max_rate=0.0001":                    "at least 0.001",
		"downscale=3":                        "want one of 1, 2, 4, 8",
		"stamp=arrival":                      "want one of capture, publish",
		"frame_id=":                          "want 1 to 128 letters",
		"frame_id=/base":                     "without a / in front",
		"frame_id=a b":                       "want 1 to 128 letters",
		"backends=rdma":                      "want some of cuda, shm, cpu",
		"backends=sh":                        "did you mean shm?",
		"qos=relaible":                       "want one of sensor_data, reliable, transient_local; did you mean reliable?",
		"camera_info=package://x/y.yaml":     "package:// is not read: want the path of a file",
		"ros_encoding=bgr":                   "did you mean bgr8?",
		"ros_encoding=y12i":                  "no Image has this encoding; known are auto, rgb8",
		"topic=a-b":                          "letters, digits and underscores",
		"topic=/":                            "has no name",
		"topic=/" + strings.Repeat("a", 237): "at most 247",
		"topic=" + strings.Repeat("a", 200) + "/" + strings.Repeat("b", 36): "at most 247",
		"jpeg.quality=0":                    "want a whole number from 1 to 100",
		"jpeg.max_rate=1e-9":                "at least 0.001",
		"streams.color/jpeg.jpeg.quality=x": "streams.color/jpeg: option jpeg.quality=x: want a whole number",
		"streams.color.max_rate=fast":       "streams.color: option max_rate=fast: want a number",
		"streams.color.encoding=nv12":       "of one stream only max_rate, downscale, stamp, frame_id, backends, qos, camera_info, ros_encoding, topic, jpeg.quality, jpeg.max_rate can be set",
		"streams.depth.max_rate=5":          `kind replay has no stream "depth"`,
		"streams.max_rate=5":                `kind replay has no stream ""`,
		"streams.color/jpeg.backends=shm+x": "want some of cuda, shm, cpu",
	} {
		t.Run(text, func(t *testing.T) {
			s := spec(t, "a=replay:x,"+text)
			_, err := takeOutputs(&s)
			key, _, _ := strings.Cut(text, "=")
			if !errors.Is(err, capture.ErrConfig) || !strings.Contains(err.Error(), want) || !slices.Equal(wrongKeys(err), []string{key}) {
				t.Errorf("%v of %v, want %q", err, wrongKeys(err), want)
			}
		})
	}
}

// What the options of a camera cannot be together with the settings of the
// network is refused at the start, by its key.
func TestCheckNetwork(t *testing.T) {
	long := strings.Repeat("n", 120)
	for _, c := range []struct {
		options string
		n       Network
		key     string // "": all is well
		want    string
	}{
		{"qos=transient_local", Network{}, "", ""},
		{"qos=reliable", Network{AnyHash: true}, "", ""},
		{"qos=transient_local", Network{AnyHash: true}, "qos", "transient_local does not go together with ros2.any_hash"},
		{"streams.color.qos=transient_local", Network{AnyHash: true}, "streams.color.qos", "ros2.any_hash"},
		{"qos=transient_local,streams.color.qos=reliable,streams.color/jpeg.qos=reliable,backends=shm", Network{AnyHash: true}, "", ""},
		{"topic=" + long, Network{Namespace: "/" + long}, "topic", "at most 247"},
		{"topic=/" + long, Network{Namespace: "/" + long}, "", ""},
		{"streams.color/jpeg.topic=" + long, Network{Namespace: "/" + long}, "streams.color/jpeg.topic", "at most 247"},
		{"loop=true", Network{Namespace: "/" + long + "/" + long}, "topic", "at most 247"},
	} {
		s := spec(t, "a=replay:x,"+c.options)
		err := c.n.CheckCamera(s)
		if c.key == "" {
			if err != nil {
				t.Errorf("%s, %+v: %v", c.options, c.n, err)
			}
			continue
		}
		if err == nil || !errors.Is(err, capture.ErrConfig) || !slices.Equal(wrongKeys(err), []string{c.key}) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %+v: %v of %v, want %s: %s", c.options, c.n, err, wrongKeys(err), c.key, c.want)
		}
		if _, err := newCamera(&Daemon{Network: &c.n}, s); !errors.Is(err, capture.ErrConfig) {
			t.Errorf("%s, %+v: at the start %v", c.options, c.n, err)
		}
	}
}

// What a camera says of its topic is that of one stream: others would have the
// same.
func TestTopicOfACameraIsThatOfColor(t *testing.T) {
	s := spec(t, "a=replay:x,topic=image_raw,qos=reliable")
	o, err := takeOutputs(&s)
	if err != nil {
		t.Fatal(err)
	}
	for stream, want := range map[string]string{"color": "image_raw", "color/jpeg": "image_raw", "depth": ""} {
		if got := o.of(stream).ros; got.topic != want || got.qos != qosReliable {
			t.Errorf("%s: %+v, want topic %q", stream, got, want)
		}
	}
}

func TestPublishedFormat(t *testing.T) {
	nv12, err := frame.NewGeometryStep(frame.NV12, 64, 48, 128)
	if err != nil {
		t.Fatal(err)
	}
	jpeg, err := frame.NewCompressed(frame.JPEG, 64, 48, 9000)
	if err != nil {
		t.Fatal(err)
	}
	bayer, err := frame.NewGeometry(frame.BayerBGGR8, 64, 48)
	if err != nil {
		t.Fatal(err)
	}
	const ms = time.Millisecond
	for _, c := range []struct {
		name     string
		o        output
		f        capture.Format
		size     string
		interval time.Duration
		refused  bool
	}{
		{"as it is", output{downscale: 1}, capture.Format{Geometry: nv12, Interval: 20 * ms}, "64x48 nv12", 20 * ms, false},
		{"rarer", output{maxRate: 10}, capture.Format{Geometry: nv12, Interval: 20 * ms}, "64x48 nv12", 100 * ms, false},
		{"not rarer than it comes", output{maxRate: 100}, capture.Format{Geometry: nv12, Interval: 20 * ms}, "64x48 nv12", 20 * ms, false},
		{"nobody knows the rate", output{maxRate: 10}, capture.Format{Geometry: nv12}, "64x48 nv12", 0, false},
		{"smaller", output{downscale: 4}, capture.Format{Geometry: nv12, Held: 5, MinSlotBytes: 99999}, "16x12 nv12", 0, false},
		{"compressed stays", output{downscale: 4}, capture.Format{Geometry: jpeg}, "64x48 jpeg", 0, false},
		{"compressed was meant", output{downscale: 4, own: true}, capture.Format{Geometry: jpeg}, "", 0, true},
		{"bayer", output{downscale: 4}, capture.Format{Geometry: bayer}, "", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, scale, err := c.o.published(c.f)
			if c.refused {
				if !errors.Is(err, capture.ErrFormatRefused) || !strings.Contains(err.Error(), "downscale=4") {
					t.Errorf("%v, want %v", err, capture.ErrFormatRefused)
				}
				return
			}
			if err != nil || out.Geometry.String() != c.size || out.Interval != c.interval {
				t.Errorf("%v every %v, want %s every %v: %v", out.Geometry, out.Interval, c.size, c.interval, err)
			}
			if small := out.Geometry != c.f.Geometry; small != (scale != nil) || small && (out.Held != 1 || out.MinSlotBytes != 0) {
				t.Errorf("%+v, scaled %v", out, scale != nil)
			}
		})
	}
}

// fed is a source that commits what a test gives it.
type fed struct {
	format capture.Format
	frames chan capture.Stamp // in all of its bytes is the driver's number
	done   chan struct{}      // after each
}

func (f *fed) Describe() string { return "fed" }

func (f *fed) Run(ctx context.Context, sink capture.Sink) error {
	w, err := sink.Open("color", f.format)
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case st := <-f.frames:
			slot, err := w.Acquire()
			if err != nil {
				return err
			}
			for i := range slot.Data {
				slot.Data[i] = byte(st.DriverSequence)
			}
			w.Commit(slot, st)
			f.done <- struct{}{}
		}
	}
}

func (f *fed) feed(st capture.Stamp) {
	f.frames <- st
	<-f.done
}

func bootFed(t *testing.T, f capture.Format, options string) (*Daemon, *fed, string) {
	t.Helper()
	source := &fed{format: f, frames: make(chan capture.Stamp), done: make(chan struct{})}
	dir := runtimeDir(t)
	d := &Daemon{
		Dir: dir, Log: slog.New(slog.DiscardHandler), Cameras: []capture.Spec{spec(t, "a=fed"+options)},
		Sources: func(capture.Spec) (capture.Source, error) { return source, nil },
	}
	run(t, d)
	return d, source, dir
}

func statusOf(t *testing.T, d *Daemon) StreamStatus {
	t.Helper()
	st := d.Status()
	if len(st.Streams) != 1 {
		t.Fatalf("%d streams", len(st.Streams))
	}
	return st.Streams[0]
}

func TestMaxRateIsNoLoss(t *testing.T) {
	f := patternFormat()
	d, source, dir := bootFed(t, f, ",max_rate=40,frame_id=lens,stamp=publish,backends=shm")
	s := subscribe(t, dir, "a/color")
	const start = int64(time.Hour)
	var got []frame.Meta
	for i := range 40 { // 100 frames a second
		st := capture.Stamp{DriverSequence: uint64(i), CaptureNanos: start + int64(i)*int64(f.Interval)}
		if i == 11 { // left out
			st.Flags = frame.Discontinuity
		}
		source.feed(st)
		if published := statusOf(t, d).Published; published > uint64(len(got)) {
			fr := next(t, s)
			got = append(got, fr.Meta())
			fr.Release()
		}
	}
	if n := len(got); n != 16 {
		t.Fatalf("%d frames at 40 a second, of 40 at 100, want 16", n)
	}
	breaks := 0
	for i, m := range got {
		if m.Sequence != uint64(i+1) {
			t.Errorf("frame %d has number %d: a gap where nothing was lost", i, m.Sequence)
		}
		if m.Flags&frame.Discontinuity != 0 && i > 0 {
			breaks++
			if m.DriverSequence < 11 || m.DriverSequence > 14 {
				t.Errorf("the break at frame 11 is shown at %d", m.DriverSequence)
			}
		}
	}
	if breaks != 1 {
		t.Errorf("%d breaks, want 1: that of a frame left out goes with the next one", breaks)
	}
	if missed := s.Stats().Missed; missed != 0 {
		t.Errorf("the subscriber missed %d frames", missed)
	}
	st := statusOf(t, d)
	if st.Decimated != 24 || st.Published != 16 || len(st.Dropped) != 0 {
		t.Errorf("%d left out, %d published, lost %v", st.Decimated, st.Published, st.Dropped)
	}
	info := s.Info()
	if info.IntervalNS != int64(25*time.Millisecond) || info.FrameID != "lens" || info.Stamp != negotiate.StampPublish {
		t.Errorf("%+v", info)
	}
}

func TestDownscaledStream(t *testing.T) {
	g, err := frame.NewGeometryStep(frame.YUV422YUY2, 64, 48, 160)
	if err != nil {
		t.Fatal(err)
	}
	f := capture.Format{Geometry: g, Held: 3, MinSlotBytes: g.Size() + 5000, Color: frame.Color{Range: frame.Full}}
	d, source, dir := bootFed(t, f, ",downscale=4")
	for i := range 10 { // more than there is memory for
		source.feed(capture.Stamp{DriverSequence: uint64(i)})
	}
	if st := statusOf(t, d); st.Published != 0 || len(st.Dropped) != 0 {
		t.Errorf("%d frames scaled for nobody, lost %v", st.Published, st.Dropped)
	}
	s := subscribe(t, dir, "a/color")
	for end := bounded(t); len(statusOf(t, d).Subscribers) == 0; runtime.Gosched() { // it is, once it knows that it is
		if end.Err() != nil {
			t.Fatal("the subscription is not listed")
		}
	}
	for i := range 20 {
		source.feed(capture.Stamp{DriverSequence: uint64(100 + i), CopiedBytes: i % 2, Copies: 2 * (i % 2)})
		fr := next(t, s)
		if got := fr.Geometry(); got.Width != 16 || got.Height != 12 || got.Encoding != frame.YUV422YUY2 || len(fr.Data()) < got.Size() {
			t.Fatalf("%v", got)
		}
		for _, b := range fr.Data()[:fr.Geometry().Size()] {
			if b != byte(100+i) {
				t.Fatalf("frame %d holds %d", 100+i, b)
			}
		}
		if m := fr.Meta(); m.Sequence != uint64(i+1) || m.Bytes != 16*12*2 {
			t.Errorf("%+v", m)
		}
		fr.Release()
	}
	st := statusOf(t, d)
	if st.HostCopies != 2 || st.Published != 20 {
		t.Errorf("%.2f copies of %d frames, want 2.00: every other one was copied twice before", st.HostCopies, st.Published)
	}
	if c := s.Info().Color; c != f.Color {
		t.Errorf("colour %v, want %v", c, f.Color)
	}
}

// What a source writes into is as drivers want it: it begins with a page.
func TestPages(t *testing.T) {
	for _, n := range []int{1, 4095, 4096, 100_000} {
		b := pages(n)
		if at := addressOf(b); len(b) != n || cap(b) < n || at%4096 != 0 {
			t.Errorf("%d bytes: %d of %d at %#x", n, len(b), cap(b), at)
		}
	}
}

func TestBackendsOfAStream(t *testing.T) {
	dir := runtimeDir(t)
	d, _ := boot(t, dir, "a=pattern,64x64@100,backends=cpu", "b=pattern,64x64@100,streams.color.backends=shm")
	next(t, subscribe(t, dir, "b/color")).Release()
	there := func() bool {
		streams := d.Status().Streams
		return len(streams) == 2 && streams[0].Published > 0 && streams[1].Published > 0
	}
	for end := bounded(t); !there(); runtime.Gosched() { // who asks before is told to wait
		if end.Err() != nil {
			t.Fatal("a has no stream")
		}
	}
	quiet := client.WithLogger(slog.New(slog.DiscardHandler))
	for name, c := range map[string]struct {
		stream string
		opt    client.Option
		want   error
		reason negotiate.Reason
	}{
		"left out":                {"a/color", client.WithAccept(negotiate.BackendSHM), client.ErrPermission, negotiate.ReasonPolicy},
		"allowed, but not there":  {"a/color", client.WithRequire(negotiate.BackendCPU), client.ErrNotAvailable, negotiate.ReasonNotOffered},
		"left out, and not there": {"b/color", client.WithRequire(negotiate.BackendCUDA), client.ErrPermission, negotiate.ReasonPolicy},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := client.Subscribe(bounded(t), c.stream, c.opt, quiet, client.WithRuntimeDir(dir))
			if s != nil {
				_ = s.Close()
			}
			var r *client.RefusedError
			if !errors.Is(err, c.want) || !errors.As(err, &r) || r.Refusal.Reason != c.reason {
				t.Errorf("got %v, want %v with reason %s", err, c.want, c.reason)
			}
		})
	}
}

func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
