// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ros2

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/capture/pattern"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/cli"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// camsub runs a command of camsub. meanwhile, which may be nil, runs beside it.
func camsub(t *testing.T, router string, meanwhile func(), args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	args = append(args, "--connect", router, "--domain", "0", "--runtime-dir", t.TempDir())
	code := make(chan int, 1)
	end := ctx(t)
	go func() { code <- cli.Execute(end, cli.NewCamsub(), args, &out, &errs) }()
	if meanwhile != nil {
		meanwhile()
	}
	if c := <-code; c != cli.ExitOK {
		t.Errorf("camsub %v: exit %d, %s", args, c, errs.String())
	}
	return out.String(), errs.String()
}

// reader is a subscription by package client, in a session of its own. What was
// published a moment ago may still be on its way through the router: it is asked
// for until it is there.
func reader(t *testing.T, p *peer, name string, opts ...client.Option) *client.Subscription {
	t.Helper()
	opts = append([]client.Option{
		client.WithZenoh(config.Client(p.endpoint)), client.WithDomain(0), client.WithName("reader"), client.WithLogger(slog.New(slog.DiscardHandler)),
	}, opts...)
	soon := ctx(t)
	s, err := client.Subscribe(soon, name, opts...)
	for errors.Is(err, client.ErrUnknownStream) && soon.Err() == nil {
		s, err = client.Subscribe(soon, name, opts...)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func held(t *testing.T, s *client.Subscription) client.Frame {
	t.Helper()
	f, err := s.Next(ctx(t))
	if err != nil {
		t.Fatalf("%v; ignored %v", err, s.Stats().Ignored)
	}
	return f
}

// pictureOf is the small picture as the peer publishes it.
func pictureOf(m *msg.Image) command {
	return command{
		"sec": m.Header.Stamp.Sec, "nanosec": m.Header.Stamp.Nanosec, "frame": m.Header.FrameID, "height": m.Height,
		"width": m.Width, "encoding": m.Encoding, "step": m.Step, "data": hex.EncodeToString(m.Data),
	}
}

// TestClientReadsTheirs reads the topic of a node of zenoh-ros2-sdk, which
// lists the subscription.
func TestClientReadsTheirs(t *testing.T) {
	p := startPeer(t)
	const name = "/their/image_raw"
	p.do(command{
		"op": "publisher", "name": name, "topic": name, "type": msg.TypeImage.Name, "definition": msg.TypeImage.Definition(),
		"node_name": "driver", "namespace": "/robot", "qos": "2::,5:,:,:,,",
	}, "declared")
	want, _ := picture()
	publish := command{"op": "publish", "name": name, "image": pictureOf(want)}
	s := reader(t, p, name)
	for _, number := range []int64{1, 2, 5} {
		publish["sequence"] = number
		p.do(publish, "published")
		f := held(t, s)
		m, g := f.Meta(), f.Geometry()
		if !bytes.Equal(f.Data(), want.Data) || g.String() != "5x3 rgb8" || g.Step != 16 || m.Sequence != uint64(number) || m.WallNanos != want.Header.Stamp.Nanos() {
			t.Errorf("%v, step %d, %+v", g, g.Step, m)
		}
		f.Release()
	}
	if st, i := s.Stats(), s.Info(); st.Missed != 2 || st.Ignored != nil || i.Camera != "/robot/driver" || i.FrameID != want.Header.FrameID {
		t.Errorf("%+v, %+v", st, i)
	}
	if x := p.listed(name, "reader_"); x[0] != "MS" || x[3] != msg.TypeImage.Name || x[4] != msg.TypeImage.Hash || x[5] != "2::,5:,:,:,," {
		t.Errorf("it lists %v", x)
	}
	_ = s.Close()

	out, _ := camsub(t, p.endpoint, nil, "list")
	if want := name + "  0       sensor_msgs/msg/Image  1           /robot/driver  0\n"; !strings.HasSuffix(out, want) {
		t.Errorf("listed:\n%s", out)
	}
	out, _ = camsub(t, p.endpoint, nil, "info", name)
	for _, part := range []string{"type:        sensor_msgs/msg/Image\n", "publisher:   /robot/driver\n  qos:       best effort, volatile, keep last 5\n  type hash: " + msg.TypeImage.Hash + "\n  gid:       "} {
		if !strings.Contains(out, part) {
			t.Errorf("described:\n%s", out)
		}
	}
	// Not before the peer sees the node that the command is.
	once := func(node string) func() {
		return func() {
			p.listed(name, node)
			p.do(publish, "published")
		}
	}
	out, _ = camsub(t, p.endpoint, once("camsub_echo_"), "echo", name, "--once")
	if head := "header:\n  stamp:\n    sec: 1700000000\n    nanosec: 123456789\n  frame_id: cam0_optical_frame\nheight: 3\nwidth: 5\nencoding: rgb8\nis_bigendian: 0\nstep: 16\ndata: '<sequence type: uint8, length: 48>'\n"; !strings.HasPrefix(out, head) {
		t.Errorf("echoed:\n%s", out)
	}
	out, note := camsub(t, p.endpoint, once("camsub_bw_"), "bw", name, "--count", "1", "--format", "json")
	if size := fmt.Sprintf(`"bytes": %d,`, len(want.AppendCDR(nil))); !strings.Contains(out, size) || !strings.Contains(note, name+" by cpu (Zenoh), 5x3 rgb8\n") {
		t.Errorf("want %s; got\n%s%s", size, out, note)
	}
}

// listed is the endpoint of a node, whose name begins so, at a topic, as soon as
// the peer lists it.
func (p *peer) listed(topic, node string) []string {
	p.t.Helper()
	for end := ctx(p.t); ; {
		e := p.do(command{"op": "topic", "topic": topic}, "topic")
		if i := slices.IndexFunc(e.Endpoints, func(x []string) bool { return strings.HasPrefix(x[2], node) }); i >= 0 {
			return e.Endpoints[i]
		}
		if end.Err() != nil {
			p.t.Fatalf("the peer does not see %s at %s, but %v", node, topic, e.Endpoints)
		}
	}
}

// TestClientReadsCamd reads a stream of camd as ROS sees it, through changes of
// its size, and by shared memory where that may be had.
func TestClientReadsCamd(t *testing.T) {
	p := startPeer(t)
	d := camd(t, p.endpoint, "front=pattern,64x48@100,encoding=rgb8,fault.resize=150ms")
	await(t, d, "published", func(st daemon.Status) bool { return topic(st, images).Topic != "" && st.Zenoh.State == "connected" })
	s := reader(t, p, "front/color", client.WithRuntimeDir(d.Dir), client.WithAccept(negotiate.BackendCPU))
	last := -1
	var size frame.Geometry
	for changes := 0; changes < 3; {
		f := held(t, s)
		m, g := f.Meta(), f.Geometry()
		if len(f.Data()) != g.Step*g.Height || m.Bytes != len(f.Data()) || f.MessageBytes() <= m.Bytes {
			t.Errorf("%d bytes of %v, %d of the message", len(f.Data()), g, f.MessageBytes())
		}
		if g != size && size.Width != 0 {
			if changes++; m.Flags&frame.Discontinuity == 0 {
				t.Errorf("%v after %v: flags %v", g, size, m.Flags)
			}
		}
		size = g
		if m.CaptureNanos == 0 || m.PublishNanos < m.CaptureNanos || f.HeldNanos() < m.PublishNanos {
			t.Errorf("captured %d, published %d, held %d", m.CaptureNanos, m.PublishNanos, f.HeldNanos())
		}
		if n, err := pattern.Verify(g, f.Data()); err != nil || int(n) <= last {
			t.Errorf("picture %d after %d: %v", n, last, err)
		} else {
			last = int(n)
		}
		f.Release()
	}
	path := s.Path()
	if path.Topic != images || path.Dir != d.Dir || negotiate.Summary(path.Rejected) != "cuda: not_accepted, shm: not_accepted" || s.Stats().Ignored != nil {
		t.Errorf("%+v, %+v", path, s.Stats())
	}
	_ = s.Close()
	await(t, d, "nobody reads", func(st daemon.Status) bool { return !topic(st, images).Matched })
	s = reader(t, p, "front/color", client.WithRuntimeDir(d.Dir), client.WithAccept(negotiate.BackendCPU, negotiate.BackendSHM))
	held(t, s).Release()
	if b := s.Path().Backend; b != negotiate.BackendSHM {
		t.Errorf("by %s, though there is shm", b)
	}
}

// ownCamera is a publisher of ours.
type ownCamera struct {
	*ours
	t    *testing.T
	next graph.Attachment
	msg  msg.Image
}

func ownPublisher(t *testing.T, s *zenoh.Session, name string, qos graph.QoS, o *zenoh.PublisherOptions) *ownCamera {
	t.Helper()
	e := graph.Entity{
		ZID: s.ZID().String(), ID: 1, Kind: graph.KindPublisher, Node: "own", Topic: name, Type: msg.TypeImage.Name, Hash: msg.TypeImage.Hash, QoS: qos,
	}
	pub, err := s.Publisher(e.Key(), o)
	if err != nil {
		t.Fatal(err)
	}
	token(t, s, e)
	settle(t, s)
	c := &ownCamera{ours: &ours{entity: e, pub: pub}, t: t, next: graph.Attachment{GID: e.GID(), SourceNanos: 1}}
	m, _ := picture()
	c.msg = *m
	return c
}

func (c *ownCamera) publish() {
	c.t.Helper()
	c.next.Sequence++
	c.next.SourceNanos++
	c.put(c.t, c.next, nil, c.msg.AppendCDR(nil))
}

// until publishes until a frame comes: a subscriber is known to the publisher
// only some time after it knows of it.
func (c *ownCamera) until(s *client.Subscription) client.Frame {
	c.t.Helper()
	got := make(chan client.Frame, 1)
	go func() {
		f, err := s.Next(ctx(c.t))
		if err != nil {
			c.t.Error(err)
		}
		got <- f
	}()
	for end := ctx(c.t); ; {
		select {
		case f := <-got:
			return f
		case <-end.Done():
			c.t.Fatal("no frame of what is published")
		default:
			// While the router is away there is nobody to publish for.
			c.next.Sequence++
			c.next.SourceNanos++
			_ = c.pub.Put(context.Background(), c.msg.AppendCDR(nil), &zenoh.PutOptions{Attachment: c.next.Append(nil)})
			runtime.Gosched()
		}
	}
}

// TestClientThroughRestarts goes on when the publisher and when the router come
// back, and says so.
func TestClientThroughRestarts(t *testing.T) {
	port := proctest.Port(t)
	p := startPeerAt(t, port)
	first := ownPublisher(t, p.open(), "/own/image_raw", graph.SensorData(), nil)
	events := make(chan client.EventKind, 1000)
	s := reader(t, p, "/own/image_raw", client.WithEvents(func(e client.Event) { events <- e.Kind }))
	wait := func(kind client.EventKind) {
		t.Helper()
		for end := ctx(t).Done(); ; {
			select {
			case k := <-events:
				if k == kind {
					return
				}
			case <-end:
				t.Fatalf("no event %s", kind)
			}
		}
	}
	first.until(s).Release()
	// A router that ends takes the connections of both with it.
	_ = p.cmd.Process.Kill()
	wait(client.EventDisconnected)
	p = startPeerAt(t, port)
	wait(client.EventConnected)
	f := first.until(s)
	if f.Meta().Flags&frame.Discontinuity == 0 {
		t.Error("the first frame after the router came back is not marked")
	}
	f.Release()
	second := ownPublisher(t, p.open(), "/own/image_raw", graph.SensorData(), nil)
	// The first one is silent from now on, but for what is under way.
	for f = second.until(s); f.Session() != frame.Session(second.entity.GID()); f = second.until(s) {
		f.Release()
	}
	if f.Meta().Flags&frame.Discontinuity == 0 {
		t.Errorf("the first frame of the second publisher: flags %v", f.Meta().Flags)
	}
	f.Release()
	if st := s.Stats(); st.Reconnects == 0 {
		t.Errorf("%+v", st)
	}
}

// TestClientFetchesHistory gets what a transient local publisher sent before.
func TestClientFetchesHistory(t *testing.T) {
	p := startPeer(t)
	c := ownPublisher(t, p.open(), "/own/latched", graph.Latched(), &zenoh.PublisherOptions{Cache: 1})
	c.publish()
	c.publish()
	s := reader(t, p, "/own/latched")
	f := held(t, s)
	if f.Meta().Sequence != 2 || f.Meta().Flags != frame.Kept || !bytes.Equal(f.Data(), c.msg.Data) {
		t.Errorf("got %+v", f.Meta())
	}
	f.Release()
	// Of a second one comes what it published before it was known, and nothing
	// of the first again.
	later := ownPublisher(t, p.open(), "/own/latched", graph.Latched(), &zenoh.PublisherOptions{Cache: 1})
	later.next.SourceNanos = c.next.SourceNanos
	for f = later.until(s); f.Session() != frame.Session(later.entity.GID()); f = later.until(s) {
		t.Errorf("again %+v", f.Meta())
		f.Release()
	}
	f.Release()
}

// TestReceiveAllocatesNothing takes frames from a real router: once it runs, a
// frame costs no memory and is where it was received.
func TestReceiveAllocatesNothing(t *testing.T) {
	p := startPeer(t)
	// Blocking: a router that is out of breath may drop a frame else.
	qos := zenoh.QoS{Congestion: zenoh.CongestionBlock}
	c := ownPublisher(t, p.open(), "/own/image_raw", graph.ReliableDepth(1), &zenoh.PublisherOptions{QoS: qos})
	c.msg = msg.Image{Width: 640, Height: 480, Encoding: "rgb8", Step: 1920, Data: make([]byte, 640*480*3)}
	payload := c.msg.AppendCDR(nil)
	s := reader(t, p, "/own/image_raw")
	c.until(s).Release()
	end := ctx(t)
	o := &zenoh.PutOptions{}
	one := func() {
		c.next.Sequence++
		c.next.SourceNanos++
		o.Attachment = c.next.Append(o.Attachment[:0])
		if err := c.pub.Put(end, payload, o); err != nil {
			t.Fatal(err)
		}
		for {
			f, err := s.Next(end)
			if err != nil {
				t.Fatal(err)
			}
			number := f.Meta().Sequence
			f.Release()
			if number == uint64(c.next.Sequence) {
				return
			}
		}
	}
	for range 50 {
		one()
	}
	if n := testing.AllocsPerRun(200, one); n > 0 {
		t.Errorf("%v allocations a frame", n)
	}
}
