// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ros2

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/backend/cpu"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/jpeg"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// camd runs a daemon that publishes through the router.
func camd(t *testing.T, router string, cameras ...string) *daemon.Daemon {
	t.Helper()
	return camdIn(t, daemon.Network{Namespace: "/robot1", Diagnostics: true}, router, cameras...)
}

// camdIn is that with other settings of the network.
func camdIn(t *testing.T, n daemon.Network, router string, cameras ...string) *daemon.Daemon {
	t.Helper()
	if n.Zenoh == nil {
		n.Zenoh = config.Client(router)
	}
	n.Zenoh.Connect.ExitOnFailure = false
	n.Zenoh.Connect.RetryInit, n.Zenoh.Connect.RetryMax = 20*time.Millisecond, 20*time.Millisecond
	d := &daemon.Daemon{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Network: &n}
	for _, text := range cameras {
		spec, err := capture.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		d.Cameras = append(d.Cameras, spec)
	}
	ready := make(chan struct{})
	d.Ready = func(string) { close(ready) }
	run, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- d.Run(run) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-ready:
	case err := <-over:
		over <- nil
		t.Fatal(err)
	}
	return d
}

// await polls the status of the daemon.
func await(t *testing.T, d *daemon.Daemon, what string, ok func(daemon.Status) bool) daemon.Status {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := ctx(t).Done(); ; {
		st := d.Status()
		if ok(st) {
			return st
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited for: %s; status %+v, Zenoh %+v", what, st, st.Zenoh)
		}
	}
}

// topic is that of the name, of any stream.
func topic(st daemon.Status, name string) cpu.TopicStatus {
	for _, s := range st.Streams {
		for _, x := range s.Topics {
			if x.Topic == name {
				return x
			}
		}
	}
	return cpu.TopicStatus{}
}

const (
	images = "/robot1/front/color/image_raw"
	infos  = "/robot1/front/color/camera_info"
)

// subscribe has the node subscribe. Messages that come meanwhile are passed over.
func subscribe(p *peer, name string, t msg.Type) event {
	p.t.Helper()
	p.tell(command{"op": "subscriber", "name": name, "topic": name, "type": t.Name, "definition": t.Definition(), "node_name": "viewer"})
	for {
		if e := p.next(); e.Ev != "message" {
			if e.Ev != "declared" {
				p.t.Fatalf("event %+v of the peer", e)
			}
			return e
		}
	}
}

// received waits for a message of the topic.
func received(p *peer, name string) map[string]any {
	p.t.Helper()
	for {
		if e := p.next(); e.Ev == "message" && e.Name == name {
			return e.Message
		}
	}
}

// number is a field of a message, or of a message within it.
func number(m map[string]any, path ...string) float64 {
	for _, name := range path[:len(path)-1] {
		m, _ = m[name].(map[string]any)
	}
	n, _ := m[path[len(path)-1]].(float64)
	return n
}

// TestCamd has a node of zenoh-ros2-sdk list and receive a camera of which the
// size changes, and holds that nothing is done before and after.
func TestCamd(t *testing.T) {
	p := startPeer(t)
	d := camd(t, p.endpoint, "front=pattern,64x48@100,encoding=yuyv,fault.resize=60ms")
	st := await(t, d, "frames nobody asked for", func(st daemon.Status) bool {
		return topic(st, images).Topic != "" && st.Zenoh.State == "connected" && st.Streams[0].Published > 10
	})
	if x := topic(st, images); x.Frames+x.Conversions != 0 || x.Matched || st.Streams[0].Topic != images {
		t.Errorf("without a subscriber: %+v", x)
	}
	s := p.open()
	settle(t, s)
	e := p.do(command{"op": "topic", "topic": images}, "topic")
	if len(e.Endpoints) != 1 || e.Endpoints[0][1] != "/robot1" || e.Endpoints[0][2] != "front" || e.Endpoints[0][5] != graph.SensorData().String() {
		t.Errorf("it appears as %+v", e)
	}
	for name, typ := range map[string]msg.Type{images: msg.TypeImage, infos: msg.TypeCameraInfo} {
		if e := subscribe(p, name, typ); e.Hash != typ.Hash {
			t.Errorf("%s has the hash %s there", typ.Name, e.Hash)
		}
	}
	type stamp struct{ sec, nanosec float64 }
	seen, sizes, pairs := map[string]map[stamp]bool{images: {}, infos: {}}, map[float64]bool{}, 0
	for end := ctx(t).Done(); pairs < 20 || len(sizes) < 2; {
		select {
		case e := <-p.events:
			m := e.Message
			at := stamp{number(m, "header", "stamp", "sec"), number(m, "header", "stamp", "nanosec")}
			seen[e.Name][at] = true
			if seen[images][at] && seen[infos][at] {
				pairs++
			}
			if e.Name != images {
				continue
			}
			sizes[number(m, "width")] = true
			if m["encoding"] != "rgb8" || number(m, "step") != 3*number(m, "width") || number(m, "data", "len") != number(m, "step")*number(m, "height") {
				t.Errorf("an image: %v", m)
			}
		case <-end:
			t.Fatalf("%d pairs of an image and its camera_info, sizes %v", pairs, sizes)
		}
	}
	st = d.Status()
	if x := topic(st, images); !x.Matched || x.Copies != 0 || x.Frames == 0 || x.Conversions < x.Frames {
		t.Errorf("with a subscriber: %+v", x)
	}
	if x := topic(st, images+"/compressed"); x.Frames+x.Encoded != 0 {
		t.Errorf("what nobody asked for: %+v", x)
	}
	subscribe(p, "/diagnostics", msg.TypeDiagnosticArray)
	status, _ := received(p, "/diagnostics")["status"].([]any)
	if text := fmt.Sprint(status...); len(status) != 2 || !strings.Contains(text, "camd: front/color") || !strings.Contains(text, "running") {
		t.Errorf("diagnostics: %v", status)
	}
	go func() {
		for range p.events { // what was still on its way
		}
	}()
	for _, name := range []string{images, infos} {
		p.tell(command{"op": "close", "name": name})
	}
	st = await(t, d, "nobody subscribes", func(st daemon.Status) bool { return !topic(st, images).Matched && !topic(st, infos).Matched })
	before, from := topic(st, images), st.Streams[0].Published
	st = await(t, d, "more frames nobody asked for", func(st daemon.Status) bool { return st.Streams[0].Published > from+20 })
	// One was on its way when the last subscriber went.
	if x := topic(st, images); x.Conversions > before.Conversions+1 || x.Frames > before.Frames+2 {
		t.Errorf("after the last subscriber: %+v, then %+v", before, x)
	}
}

// TestRouterComesAndGoes starts camd first, and takes the router away.
func TestRouterComesAndGoes(t *testing.T) {
	port := proctest.Port(t)
	d := camd(t, routerAt(port), "front=pattern,64x48@100")
	st := await(t, d, "a stream without a router", func(st daemon.Status) bool {
		return len(st.Streams) == 1 && st.Streams[0].Published > 5
	})
	if st.Zenoh.State != "connecting" || st.Zenoh.Problem == "" {
		t.Errorf("%+v", st.Zenoh)
	}
	for round := range 2 {
		p := startPeerAt(t, port)
		await(t, d, "connected", func(st daemon.Status) bool { return st.Zenoh.State == "connected" })
		subscribe(p, images, msg.TypeImage)
		if m := received(p, images); m["encoding"] != "bgra8" {
			t.Errorf("round %d: %v", round, m)
		}
		_ = p.cmd.Process.Kill()
		st := await(t, d, "connection lost", func(st daemon.Status) bool { return st.Zenoh.State == "connecting" })
		if topic(st, images).Matched || st.Zenoh.Losses != uint64(round+1) {
			t.Errorf("round %d: %+v", round, st.Zenoh)
		}
		for range p.events {
		}
	}
}

// TestStoppedRouter stops the process that takes the frames: neither the camera
// nor its ring suffers, and the newest frame comes when it goes on.
func TestStoppedRouter(t *testing.T) {
	p := startPeer(t)
	d := camd(t, p.endpoint, "front=pattern,1280x720@100,encoding=rgb8")
	await(t, d, "the topic", func(st daemon.Status) bool { return topic(st, images).Topic != "" })
	subscribe(p, images, msg.TypeImage)
	received(p, images)
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	from := await(t, d, "frames that find the link full", func(st daemon.Status) bool { return topic(st, images).Replaced > 3 })
	st := await(t, d, "a second of frames", func(st daemon.Status) bool { return st.Streams[0].Published > from.Streams[0].Published+100 })
	s := st.Streams[0]
	delete(s.Dropped, capture.DropLate) // of a machine that is busy
	if len(s.Dropped) > 0 || s.Ring.Ended > 0 {
		t.Errorf("the camera lost frames: %v, %d readers were ended", s.Dropped, s.Ring.Ended)
	}
	// One slot is the retained frame's, one is being written.
	if leased := s.Ring.Slots - s.Ring.Free; leased > cpu.Credit+2 {
		t.Errorf("%d of %d slots are taken", leased, s.Ring.Slots)
	}
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	frames := topic(st, images).Frames
	await(t, d, "frames go out again", func(st daemon.Status) bool { return topic(st, images).Frames > frames+10 })

	// Nor does the end wait for it, of the camera and of camd.
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	replaced := topic(d.Status(), images).Replaced
	await(t, d, "frames that find the link full again", func(st daemon.Status) bool { return topic(st, images).Replaced > replaced+3 })
	if err := d.Remove("front"); err != nil {
		t.Error(err)
	}
	if st := d.Status(); len(st.Cameras)+len(st.Streams) > 0 {
		t.Errorf("%+v", st)
	}
}

// motion is a recording of ten small grey pictures, with the hash of each.
func motion(t *testing.T) (file string, sums map[string]bool) {
	t.Helper()
	encoder, err := jpeg.NewEncoder(jpeg.Auto)
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	g, err := frame.NewGeometry(frame.Mono8, 64, 48)
	if err != nil {
		t.Fatal(err)
	}
	var clip []byte
	sums = map[string]bool{}
	for i := range byte(10) {
		one, err := encoder.Encode(nil, g, bytes.Repeat([]byte{20 * i}, g.Size()), 90)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(one)
		sums[hex.EncodeToString(sum[:])] = true
		clip = append(clip, one...)
	}
	file = filepath.Join(t.TempDir(), "clip.mjpeg")
	if err := os.WriteFile(file, clip, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, sums
}

// TestMotionJPEG publishes the pictures of a recording as its camera made them,
// and decodes none for who wants these and their camera_info.
func TestMotionJPEG(t *testing.T) {
	file, sums := motion(t)
	p := startPeer(t)
	d := camd(t, p.endpoint, "front=replay:"+file+",@50,loop=true")
	await(t, d, "two streams", func(st daemon.Status) bool {
		return topic(st, images).Topic != "" && topic(st, infos).Topic != "" && topic(st, images+"/compressed").Topic != ""
	})
	subscribe(p, images+"/compressed", msg.TypeCompressedImage)
	subscribe(p, infos, msg.TypeCameraInfo)
	for range 5 {
		m := received(p, images+"/compressed")
		if m["format"] != "mono8; jpeg compressed " {
			t.Errorf("format %q", m["format"])
		}
		data, _ := m["data"].(map[string]any)
		if sum, _ := data["sha256"].(string); !sums[sum] {
			t.Errorf("another picture than the recording has: %v", m)
		}
	}
	if m := received(p, infos); number(m, "width") != 64 || number(m, "height") != 48 {
		t.Errorf("%v", m)
	}
	st := await(t, d, "what has come is counted", func(st daemon.Status) bool { return topic(st, images+"/compressed").Frames >= 5 })
	for _, s := range st.Streams {
		if want := s.Name == "front/color/jpeg"; (s.Published > 0) != want {
			t.Errorf("%s published %d frames", s.Name, s.Published)
		}
	}
	if x := topic(st, images+"/compressed"); x.Encoded+x.Copies+x.Conversions > 0 {
		t.Errorf("%+v", x)
	}
	subscribe(p, images, msg.TypeImage)
	if m := received(p, images); m["encoding"] != "mono8" {
		t.Errorf("%v", m)
	}
}
