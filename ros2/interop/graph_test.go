// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

type question map[string]any

// askGraph puts all questions to the independent implementations at once.
func askGraph[T any](t *testing.T, all []question) []T {
	t.Helper()
	in, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python(t), "graph.py")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var answers []T
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(all) {
		t.Fatalf("%d answers to %d questions, %v", len(answers), len(all), err)
	}
	return answers
}

func TestNamesBesidePamoja(t *testing.T) {
	var asked []question
	names := []string{
		"", "/", "/a", "a", "~/a", "/a/_hidden/B2", "/a/2b", "/9", "/a//b", "/a/", "/a-b", "/a b", "/é", "/a%b", "/~/a", "/*",
		"/a_", "/rt/cam0/image_raw", "/" + strings.Repeat("a", graph.MaxTopic-1),
	}
	for _, n := range names {
		asked = append(asked, question{"ask": "name", "name": n})
	}
	for i, a := range askGraph[struct{ Valid bool }](t, asked) {
		if err := graph.ValidateTopic(names[i]); a.Valid != (err == nil) {
			t.Errorf("topic %.40q: %v, valid for the other: %v", names[i], err, a.Valid)
		}
	}
}

func TestKeysBesideOthers(t *testing.T) {
	var asked []question
	var want []graph.Key
	for _, typ := range []msg.Type{msg.TypeImage, msg.TypeCameraInfo, msg.TypeString, msg.TypeTFMessage, {Name: "a/action/B_Feedback", Hash: msg.TypeString.Hash}} {
		for domain, topic := range map[int]string{0: "/chatter", 7: "/cam0/color/image_raw", 100000: "/a/_b/c3"} {
			want = append(want, graph.Key{Domain: domain, Topic: topic, Type: typ.Name, Hash: typ.Hash})
			asked = append(asked, question{"ask": "key", "domain": domain, "topic": topic, "type": typ.Name, "hash": typ.Hash})
		}
	}
	for i, a := range askGraph[struct{ SDK, Pamoja, Back, Mangled string }](t, asked) {
		k := want[i]
		if key := k.String(); a.SDK != key || a.Pamoja != key {
			t.Errorf("key %s,\nfor zenoh-ros2-sdk %s,\nfor pamoja-ros2 %s", key, a.SDK, a.Pamoja)
		}
		if got := graph.ROSType(graph.WireType(k.Type)); got != a.Back {
			t.Errorf("type %s comes back as %s, for zenoh-ros2-sdk as %s", k.Type, got, a.Back)
		}
		if got := graph.Mangle(k.Topic); got != a.Mangled {
			t.Errorf("topic %s is mangled as %s, for pamoja-ros2 as %s", k.Topic, got, a.Mangled)
		}
	}
}

// endpoints are entities of all kinds, with tokens on both sides of 240 bytes,
// where XXH3 goes another way.
func endpoints(t *testing.T) (out []graph.Entity) {
	t.Helper()
	for _, namespace := range []string{"/", "/robot", "/robot/" + strings.Repeat("deep/", 8) + "end"} {
		node := graph.NewNode(3, "1234567890abcdef1234567890abcdef", 5, namespace, "camera")
		topic, err := graph.ResolveTopic(namespace, "camera", "~/image_raw")
		if err != nil {
			t.Fatal(err)
		}
		service := node.Publisher(9, topic, "std_srvs/srv/Trigger", msg.TypeString.Hash, graph.ReliableDepth(10))
		service.Kind = graph.KindServer
		out = append(out, node,
			node.Publisher(6, topic, msg.TypeImage.Name, msg.TypeImage.Hash, graph.SensorData()),
			node.Publisher(7, topic, msg.TypeImage.Name, graph.HashNotSupported, graph.Latched()),
			node.Subscriber(8, topic, msg.TypeImu.Name, msg.TypeImu.Hash, graph.ReliableDepth(1)),
			node.Subscriber(9, topic, msg.TypeImage.Name, msg.TypeImage.Hash, graph.SensorData()),
			service,
		)
	}
	return out
}

func TestTokensBesideOthers(t *testing.T) {
	var asked []question
	all := endpoints(t)
	short, long := 0, 0
	for _, e := range all {
		if err := e.Validate(); err != nil {
			t.Fatal(err)
		}
		token := e.Token()
		if len(token) > 240 {
			long++
		} else {
			short++
		}
		asked = append(asked, question{
			"ask": "token", "domain": e.Domain, "zid": e.ZID, "nid": e.NodeID, "id": e.ID, "kind": e.Kind.String(), "node": e.Node,
			"namespace": e.Namespace, "topic": e.Topic, "type": e.Type, "hash": e.Hash, "qos": e.QoS.String(), "token": token,
		})
	}
	if short < 3 || long < 3 {
		t.Fatalf("%d tokens up to 240 bytes, %d above", short, long)
	}
	for i, a := range askGraph[struct {
		Token, GID string
		Parsed     map[string]any
	}](t, asked) {
		e := all[i]
		token := e.Token()
		// It does not know buffer backends.
		if a.Token != strings.TrimSuffix(token, "/backends:cpu:") {
			t.Errorf("token\n%s, for zenoh-ros2-sdk\n%s", token, a.Token)
		}
		if got := e.GID().String(); got != a.GID {
			t.Errorf("GID of %s: %s, by xxhash %s", token, got, a.GID)
		}
		if e.Kind == graph.KindNode {
			continue
		}
		for name, want := range map[string]any{
			"domain_id": float64(e.Domain), "session_id": e.ZID, "node_id": float64(e.NodeID), "entity_id": float64(e.ID),
			"kind": e.Kind.String(), "namespace": e.Namespace, "node_name": e.Node, "qualified_name": e.Topic,
			"dds_type": graph.WireType(e.Type), "type_hash": e.Hash, "qos": e.QoS.String(), "enclave": "%",
		} {
			if a.Parsed[name] != want {
				t.Errorf("zenoh-ros2-sdk reads %s of %s as %v, want %v", name, token, a.Parsed[name], want)
			}
		}
	}
}

// TestQoSBesideSDK leaves out what zenoh-ros2-sdk does otherwise: it writes a
// depth of 42 and takes a missing one for 10, and writes keep all without one.
func TestQoSBesideSDK(t *testing.T) {
	all := []graph.QoS{
		graph.SensorData(), graph.ReliableDepth(10), graph.ReliableDepth(1000), graph.Latched(),
		{History: graph.KeepAll},
		{Reliability: graph.BestEffort, Durability: graph.TransientLocal, Depth: 3, Lifespan: 10 * time.Second},
		{Depth: 1, Deadline: 1500 * time.Millisecond, Lifespan: time.Nanosecond},
	}
	pair := func(d time.Duration) []int64 {
		if d == graph.Infinite {
			return nil
		}
		return []int64{int64(d / time.Second), int64(d % time.Second)}
	}
	var asked []question
	for i, q := range all {
		q = q.Resolved()
		all[i] = q
		depth := q.Depth
		if q.History == graph.KeepAll {
			depth = 0
		}
		asked = append(asked, question{
			"ask": "qos", "text": q.String(), "reliability": q.Reliability, "durability": q.Durability, "history": q.History,
			"depth": depth, "deadline": pair(q.Deadline), "lifespan": pair(q.Lifespan),
		})
	}
	for i, a := range askGraph[struct {
		Same bool
		Text string
	}](t, asked) {
		if !a.Same {
			t.Errorf("zenoh-ros2-sdk reads %s as another profile", all[i])
		}
		if a.Text != all[i].String() {
			t.Errorf("QoS %s, for zenoh-ros2-sdk %s", all[i], a.Text)
		}
		if got, err := graph.ParseQoS(a.Text); err != nil || got != all[i] {
			t.Errorf("%s is %+v, %v, want %+v", a.Text, got, err, all[i])
		}
	}
}

// TestAttachmentsBesideOthers compares with zenoh-ros2-sdk, and with the
// serializer of Zenoh itself, of which attachments are a product.
func TestAttachmentsBesideOthers(t *testing.T) {
	var asked []question
	var all []graph.Attachment
	for i, e := range endpoints(t) {
		a := graph.Attachment{Sequence: 1 << (3 * i), SourceNanos: 1700000000123456789 + int64(i), GID: e.GID()}
		all = append(all, a)
		asked = append(asked, question{
			"ask": "attachment", "sequence": a.Sequence, "nanos": a.SourceNanos, "gid": a.GID.String(), "bytes": hex.EncodeToString(a.Append(nil)),
		})
	}
	for i, a := range askGraph[struct {
		SDK, Zenoh, Named string
		Same              bool
	}](t, asked) {
		if got := hex.EncodeToString(all[i].Append(nil)); got != a.SDK || got != a.Zenoh || !a.Same {
			t.Errorf("attachment %s,\nfor zenoh-ros2-sdk %s, read the same: %v,\nfor zenoh %s", got, a.SDK, a.Same, a.Zenoh)
		}
		for _, s := range []string{a.Zenoh, a.Named} {
			b, err := hex.DecodeString(s)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := graph.ParseAttachment(b); err != nil || got != all[i] {
				t.Errorf("%s is %+v, %v, want %+v", s, got, err, all[i])
			}
		}
	}
}
