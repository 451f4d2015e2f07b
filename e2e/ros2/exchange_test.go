// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ros2

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
	"github.com/seed-3c7e7623/camd/zenoh"
)

// picture is a small one with padded rows.
func picture() (*msg.Image, string) {
	m := &msg.Image{
		Header: msg.Header{Stamp: msg.Time{Sec: 1700000000, Nanosec: 123456789}, FrameID: "cam0_optical_frame"},
		Height: 3, Width: 5, Encoding: "rgb8", Step: 16,
	}
	for i := range m.Step * m.Height {
		m.Data = append(m.Data, byte(i*7))
	}
	sum := sha256.Sum256(m.Data)
	return m, hex.EncodeToString(sum[:])
}

// ours is a publisher of ours with its tokens declared.
type ours struct {
	entity  graph.Entity
	pub     *zenoh.Publisher
	matched chan bool
}

func declare(t *testing.T, s *zenoh.Session, e graph.Entity) *ours {
	t.Helper()
	o := &ours{entity: e, matched: make(chan bool, 16)}
	var err error
	o.pub, err = s.Publisher(e.Key(), &zenoh.PublisherOptions{OnMatching: func(m bool) { o.matched <- m }})
	if err != nil {
		t.Fatal(err)
	}
	token(t, s, e)
	return o
}

func token(t *testing.T, s *zenoh.Session, e graph.Entity) {
	t.Helper()
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Token(e.Token()); err != nil {
		t.Fatal(err)
	}
}

func (o *ours) put(t *testing.T, a graph.Attachment, prefix, payload []byte) {
	t.Helper()
	if err := o.pub.Put(ctx(t), payload, &zenoh.PutOptions{Prefix: prefix, Attachment: a.Append(nil)}); err != nil {
		t.Fatal(err)
	}
}

// TestOursForTheirs publishes for a node of zenoh-ros2-sdk, which lists us and
// receives, by type hashes that it computes itself.
func TestOursForTheirs(t *testing.T) {
	p := startPeer(t)
	s := p.open()
	node := graph.NewNode(0, s.ZID().String(), 0, "/cam0", "camera_driver")
	token(t, s, node)
	images := declare(t, s, node.Publisher(1, "/cam0/image_raw", msg.TypeImage.Name, msg.TypeImage.Hash, graph.SensorData()))
	texts := declare(t, s, node.Publisher(2, "/chatter", msg.TypeString.Name, msg.TypeString.Hash, graph.ReliableDepth(10)))

	settle(t, s)
	found := p.do(command{"op": "tokens", "key": graph.TokenPattern(0)}, "tokens").Tokens
	want := map[string]string{}
	for _, e := range []graph.Entity{node, images.entity, texts.entity} {
		want[e.Token()] = e.GID().String()
	}
	if d := cmp.Diff(want, found); d != "" {
		t.Errorf("tokens with the GIDs that xxhash makes of them, -want +got:\n%s", d)
	}
	if found := p.do(command{"op": "tokens", "key": "**"}, "tokens").Tokens; len(found) != 0 {
		t.Errorf("who asks for all finds %v", found)
	}
	p.do(command{"op": "watch", "name": "w", "key": images.entity.Key()}, "declared")
	if !<-images.matched {
		t.Fatal("not matched by the watcher")
	}
	for _, o := range []struct {
		*ours
		typ msg.Type
	}{{images, msg.TypeImage}, {texts, msg.TypeString}} {
		e := p.do(command{
			"op": "subscriber", "name": o.entity.Topic, "topic": o.entity.Topic, "type": o.typ.Name, "definition": o.typ.Definition(), "node_name": "viewer",
		}, "declared")
		if e.Key != o.entity.Key() || e.Hash != o.typ.Hash {
			t.Errorf("it listens to %s, we publish on %s", e.Key, o.entity.Key())
		}
	}
	if !<-texts.matched {
		t.Fatal("not matched by its subscriber")
	}
	for _, o := range []*ours{images, texts} {
		e := p.do(command{"op": "topic", "topic": o.entity.Topic}, "topic")
		end := []string{"MP", "/cam0", "camera_driver", o.entity.Type, o.entity.Hash, o.entity.QoS.String()}
		if !slices.Equal(e.Types, []string{o.entity.Type}) || len(e.Endpoints) == 0 || !slices.Equal(e.Endpoints[0], end) {
			t.Errorf("%s appears as %+v, want %q", o.entity.Topic, e, end)
		}
	}

	m, sum := picture()
	a := graph.Attachment{Sequence: 1, SourceNanos: 1700000000223456789, GID: images.entity.GID()}
	images.put(t, a, m.AppendPrefix(nil, len(m.Data)), m.Data)
	texts.put(t, graph.Attachment{Sequence: 1, SourceNanos: 1, GID: texts.entity.GID()}, nil, (&msg.String{Data: "grüß dich"}).AppendCDR(nil))
	got := map[string]event{}
	for range 3 {
		select {
		case e := <-p.events:
			got[e.Ev+e.Name] = e
		case <-ctx(t).Done():
			t.Fatalf("only %+v", got)
		}
	}
	if e := got["sample"]; e.Key != images.entity.Key() || e.Sequence != 1 || e.Nanos != a.SourceNanos || e.GID != a.GID.String() || e.Size != graph.AttachmentSize {
		t.Errorf("it sees the sample %+v", e)
	}
	if d := cmp.Diff(map[string]any{
		"header": map[string]any{"stamp": map[string]any{"sec": 1700000000., "nanosec": 123456789.}, "frame_id": "cam0_optical_frame"},
		"height": 3., "width": 5., "encoding": "rgb8", "is_bigendian": 0., "step": 16., "data": map[string]any{"len": 48., "sha256": sum},
	}, got["message/cam0/image_raw"].Message); d != "" {
		t.Errorf("the image it received, -want +got:\n%s", d)
	}
	if d := cmp.Diff(map[string]any{"data": "grüß dich"}, got["message/chatter"].Message); d != "" {
		t.Errorf("the text it received, -want +got:\n%s", d)
	}

	p.do(command{"op": "close", "name": "/chatter"}, "closed")
	if <-texts.matched || texts.pub.Matching() {
		t.Error("matched after its subscriber left")
	}
	if err := s.Close(ctx(t)); err != nil {
		t.Error(err)
	}
	// The router takes its time to tell.
	for end := ctx(t); ; {
		e := p.do(command{"op": "topic", "topic": "/chatter"}, "topic")
		if len(e.Endpoints) == 0 {
			break
		}
		if end.Err() != nil {
			t.Fatalf("after our end it still lists %+v", e)
		}
	}
}

// follow keeps a cache of the session's graph.
func follow(t *testing.T, s *zenoh.Session) *graph.Cache {
	t.Helper()
	c := graph.NewCache(0, nil)
	_, err := s.SubscribeLiveliness(graph.TokenPattern(0), &zenoh.LivelinessOptions{
		History: true,
		Handler: zenoh.Handler[zenoh.Sample]{Callback: func(smp zenoh.Sample) {
			if smp.Kind == zenoh.Delete {
				c.Remove(smp.Key)
			} else if err := c.Add(smp.Key); err != nil {
				t.Error(err)
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// until waits until the graph is as wanted.
func until(t *testing.T, c *graph.Cache, ok func(*graph.Snapshot) bool) *graph.Snapshot {
	t.Helper()
	for end := ctx(t).Done(); ; {
		s := c.Snapshot()
		if ok(s) {
			return s
		}
		select {
		case <-c.Changed():
		case <-end:
			t.Fatalf("the graph is %+v", s)
		}
	}
}

// TestTheirsForOurs receives from a node of zenoh-ros2-sdk, which knows the
// 33 bytes of attachments but sends a random GID.
func TestTheirsForOurs(t *testing.T) {
	p := startPeer(t)
	s := p.open()
	c := follow(t, s)
	declared := map[string]event{}
	for topic, typ := range map[string]msg.Type{"/their/image_raw": msg.TypeImage, "/chatter": msg.TypeString} {
		declared[topic] = p.do(command{
			"op": "publisher", "name": topic, "topic": topic, "type": typ.Name, "definition": typ.Definition(),
			"node_name": "driver", "namespace": "/robot", "qos": "2::,5:,:,:,,",
		}, "declared")
	}
	g := until(t, c, func(g *graph.Snapshot) bool {
		return len(g.Topics) == 2 && len(g.Nodes) == 2 && g.Nodes[0].Declared && g.Nodes[1].Declared
	})
	topic, _ := g.Topic("/their/image_raw")
	theirs := topic.Publishers[0]
	if theirs.FullNode() != "/robot/driver" || theirs.Type != msg.TypeImage.Name || theirs.Hash != msg.TypeImage.Hash || theirs.QoS != graph.SensorData() {
		t.Errorf("its publisher is %+v", theirs)
	}
	tokens := p.do(command{"op": "tokens", "key": graph.TokenPattern(0)}, "tokens").Tokens
	if gid, there := tokens[theirs.Token()]; !there || gid != theirs.GID().String() {
		t.Errorf("its token is written as %s, there are %v", theirs.Token(), tokens)
	}

	node := graph.NewNode(0, s.ZID().String(), 0, "", "camsub")
	token(t, s, node)
	sub := node.Subscriber(1, theirs.Topic, theirs.Type, theirs.Hash, graph.SensorData())
	samples := make(chan zenoh.Sample, 64)
	for _, key := range sub.ListenKeys() {
		if _, err := s.Subscribe(key, &zenoh.SubscriberOptions{Handler: zenoh.Handler[zenoh.Sample]{Callback: func(smp zenoh.Sample) { samples <- smp }}}); err != nil {
			t.Fatal(err)
		}
	}
	token(t, s, sub)
	settle(t, s)
	next := func() (zenoh.Sample, graph.Attachment) {
		t.Helper()
		select {
		case smp := <-samples:
			a, err := graph.ParseAttachment(smp.Attachment)
			if err != nil {
				t.Fatal(err)
			}
			return smp, a
		case <-ctx(t).Done():
			t.Fatal("no sample")
		}
		return zenoh.Sample{}, graph.Attachment{}
	}

	want, _ := picture()
	for _, number := range []int64{1, 2, 5} {
		p.do(command{"op": "publish", "name": theirs.Topic, "sequence": number, "image": command{
			"sec": want.Header.Stamp.Sec, "nanosec": want.Header.Stamp.Nanosec, "frame": want.Header.FrameID, "height": want.Height,
			"width": want.Width, "encoding": want.Encoding, "step": want.Step, "data": hex.EncodeToString(want.Data),
		}}, "published")
		smp, a := next()
		var got msg.Image
		if err := got.DecodeCDR(smp.Payload); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, &got); d != "" || smp.Key != sub.Key() || smp.Key != declared[theirs.Topic].Key {
			t.Errorf("its image under the key %s, -want +got:\n%s", smp.Key, d)
		}
		if a.Sequence != number || a.GID.String() != declared[theirs.Topic].GID || a.SourceNanos < 1600000000e9 {
			t.Errorf("attachment %+v", a)
		}
		smp.Release()
	}

	// A publisher of Lyrical sees what we announce, and puts on the one key;
	// others put on the other one. Nothing comes twice.
	e := p.do(command{"op": "native", "key": sub.Key(), "payload": hex.EncodeToString(want.AppendCDR(nil))}, "put")
	if _, there := e.Tokens[sub.Token()]; !there || len(e.Tokens) != 1 {
		t.Errorf("it sees the subscribers %v, want %s", e.Tokens, sub.Token())
	}
	for i, key := range []string{graph.CPUKey(sub.Key()), sub.Key()} {
		smp, a := next()
		if smp.Key != key || a.Sequence != int64(i+1) {
			t.Errorf("number %d under %s, want %d under %s", a.Sequence, smp.Key, i+1, key)
		}
		if k, err := graph.ParseKey(smp.Key); err != nil || k.Topic != theirs.Topic || k.Type != theirs.Type || k.CPU != strings.HasSuffix(key, "/_buf_cpu") {
			t.Errorf("the key %s says %+v, %v", smp.Key, k, err)
		}
		smp.Release()
	}
	if len(samples) != 0 {
		t.Error("a sample came twice")
	}

	p.do(command{"op": "close", "name": "/chatter"}, "closed")
	until(t, c, func(g *graph.Snapshot) bool {
		_, there := g.Topic("/chatter")
		return !there && len(g.Nodes) == 2
	})
	if st := c.Stats(); len(st.Refused) != 0 {
		t.Errorf("refused %v", st.Refused)
	}
}
