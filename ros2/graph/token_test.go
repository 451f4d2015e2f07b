// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	imageHash  = "RIHS01_d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47"
	infoHash   = "RIHS01_b3dfd68ff46c9d56c80fd3bd4ed22c7a4ddce8c8348f2f59c299e73118e7e275"
	stringHash = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
	zidA       = "1234567890abcdef1234567890abcdef"
)

// image is an endpoint of the golden vectors.
func image(id uint64, kind Kind, ns, node string) Entity {
	return Entity{
		ZID: zidA, ID: id, Kind: kind, Enclave: "/", Namespace: ns, Node: node,
		Topic: "/cam0/image_raw", Type: "sensor_msgs/msg/Image", Hash: imageHash, QoS: SensorData(),
	}
}

func with(e Entity, change func(*Entity)) Entity {
	change(&e)
	return e
}

// golden holds tokens of all forms with the GIDs that rmw_zenoh_cpp gives
// them; XXH3 goes another way above 240 bytes.
var golden = []struct {
	name   string
	entity Entity
	token  string
	size   int
	gid    string
}{
	{
		"node",
		Entity{ZID: "aac3178e146ba6f1fc6e6a4085e77f21", Kind: KindNode, Enclave: "/", Namespace: "/", Node: "listener"},
		"@ros2_lv/0/aac3178e146ba6f1fc6e6a4085e77f21/0/0/NN/%/%/listener", 63, "5bd72f4daf53c0bb00c7394e7fc19547",
	},
	{
		"node in a namespace",
		Entity{ZID: zidA, Kind: KindNode, Enclave: "/", Namespace: "/cam0", Node: "camera_driver"},
		"@ros2_lv/0/" + zidA + "/0/0/NN/%/%cam0/camera_driver", 72, "d9dc108fd99bcaa992d3cb0f4037c96a",
	},
	{
		"image publisher", image(1, KindPublisher, "/cam0", "camera_driver"),
		"@ros2_lv/0/" + zidA + "/0/1/MP/%/%cam0/camera_driver/%cam0%image_raw/sensor_msgs::msg::dds_::Image_/" + imageHash + "/2::,5:,:,:,,",
		204, "1aa452df55307fa359ef8ce469b4a1ee",
	},
	{
		"talker",
		Entity{
			ZID: "8b20917502ee955ac4476e0266340d5c", ID: 10, Kind: KindPublisher, Enclave: "/", Namespace: "/", Node: "talker",
			Topic: "/chatter", Type: "std_msgs/msg/String", Hash: stringHash, QoS: ReliableDepth(7),
		},
		"@ros2_lv/0/8b20917502ee955ac4476e0266340d5c/0/10/MP/%/%/talker/%chatter/std_msgs::msg::dds_::String_/" + stringHash + "/::,7:,:,:,,",
		184, "eb85fa883b7846dc448a4501890ad062",
	},
	{
		"long names",
		Entity{
			ZID: zidA, ID: 2, Kind: KindPublisher, Enclave: "/", Namespace: "/robot1/perception/front", Node: "camera_driver_front_left_node",
			Topic: "/robot1/perception/front/camera_info", Type: "sensor_msgs/msg/CameraInfo", Hash: infoHash, QoS: SensorData(),
		},
		"@ros2_lv/0/" + zidA + "/0/2/MP/%/%robot1%perception%front/camera_driver_front_left_node/%robot1%perception%front%camera_info/" +
			"sensor_msgs::msg::dds_::CameraInfo_/" + infoHash + "/2::,5:,:,:,,",
		265, "e603a2dc09277e7bdc6e22aa670520cd",
	},
	{
		"subscriber", image(3, KindSubscriber, "/", "viewer"),
		"@ros2_lv/0/" + zidA + "/0/3/MS/%/%/viewer/%cam0%image_raw/sensor_msgs::msg::dds_::Image_/" + imageHash + "/2::,5:,:,:,,",
		193, "e52d904ce924c1800322b609e8a7f7ea",
	},
	{
		"subscriber of Lyrical", with(image(3, KindSubscriber, "/", "viewer"), func(e *Entity) { e.Backends = BackendsCPU }),
		"@ros2_lv/0/" + zidA + "/0/3/MS/%/%/viewer/%cam0%image_raw/sensor_msgs::msg::dds_::Image_/" + imageHash + "/2::,5:,:,:,,/backends:cpu:",
		207, "2d065eea5ec10a10e6de5f79268833e8",
	},
	{
		"subscriber of Lyrical that takes CUDA", with(image(3, KindSubscriber, "/", "viewer"), func(e *Entity) { e.Backends = "cuda:" }),
		"@ros2_lv/0/" + zidA + "/0/3/MS/%/%/viewer/%cam0%image_raw/sensor_msgs::msg::dds_::Image_/" + imageHash + "/2::,5:,:,:,,/backends:cuda:",
		208, "ec4b3ea41b1d528ab48fa3966795b183",
	},
	{
		"publisher of Lyrical with CUDA",
		with(image(1, KindPublisher, "/cam0", "camera_driver"), func(e *Entity) { e.Backends = FormatBackends([]Backend{{"cuda", ""}, {"cpu", ""}}) }),
		"@ros2_lv/0/" + zidA + "/0/1/MP/%/%cam0/camera_driver/%cam0%image_raw/sensor_msgs::msg::dds_::Image_/" + imageHash + "/2::,5:,:,:,,/backends:cpu:;cuda:",
		224, "42c5a425c85ddd4fa48f8f6fc6107eba",
	},
}

func TestGoldenTokens(t *testing.T) {
	for _, tc := range golden {
		t.Run(tc.name, func(t *testing.T) {
			if len(tc.token) != tc.size {
				t.Fatalf("the vector has %d bytes, want %d", len(tc.token), tc.size)
			}
			if got := tc.entity.Token(); got != tc.token {
				t.Errorf("token\n%s, want\n%s", got, tc.token)
			}
			if got := tc.entity.GID().String(); got != tc.gid {
				t.Errorf("GID %s, want %s", got, tc.gid)
			}
			got, err := ParseToken(tc.token)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.entity, got); d != "" {
				t.Errorf("parsed, -want +got:\n%s", d)
			}
			if err := got.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTokensThatAreRefused(t *testing.T) {
	node := "@ros2_lv/0/" + zidA + "/0/0/NN/%/%/n"
	end := strings.Replace(golden[2].token, "/0/1/MP/", "/0/1/KIND/", 1)
	as := func(from, to string) string {
		s := strings.Replace(golden[2].token, from, to, 1)
		if s == golden[2].token {
			t.Fatalf("no %q", from)
		}
		return s
	}
	for _, tc := range []struct {
		name, token string
		want        error
	}{
		{"empty", "", ErrChunks},
		{"another admin space", strings.Replace(node, "@ros2_lv", "@/x/@ros2_lv", 1), ErrChunks},
		{"a node with 8 chunks", strings.TrimSuffix(node, "/n"), ErrChunks},
		{"an endpoint with 12 chunks", as("/2::,5:,:,:,,", ""), ErrChunks},
		{"an empty chunk", strings.Replace(node, "/%/", "//", 1), ErrChunks},
		{"a slash at the end", node + "/", ErrChunks},
		{"too long", node + strings.Repeat("n", MaxToken), ErrChunks},
		{"an unknown kind", end, ErrKind},
		{"a domain that is no number", as("/0/", "/x/"), ErrNumber},
		{"a negative domain", as("/0/", "/-1/"), ErrNumber},
		{"an id beyond 64 bits", as("/0/1/MP", "/0/18446744073709551616/MP"), ErrNumber},
		{"a session in capitals", as("abcdef", "ABCDEF"), ErrNumber},
		{"a session of 17 bytes", as(zidA, zidA+"00"), ErrNumber},
		{"a namespace without its slash", as("/%cam0/", "/cam0/"), ErrName},
		{"a node with a slash", as("camera_driver", "camera%driver"), ErrName},
		{"a topic with two slashes", as("%cam0%image_raw", "%cam0%%image_raw"), ErrName},
		{"a topic that is relative", as("/%cam0%image_raw", "/cam0%image_raw"), ErrName},
		{"an escape sequence of a terminal", as("camera_driver", "camera\x1b[2J"), ErrName},
		{"a wildcard", as("sensor_msgs::", "**::"), ErrName},
		{"QoS of the first releases", as("/2::,5:,:,:,,", "/2:2:1,5"), ErrQoS},
		{"backends without a colon", golden[2].token + "/backends:cuda", ErrBackends},
		{"backends escaped in another way", golden[2].token + "/backends:a%3b:", ErrBackends},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := ParseToken(tc.token); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
		})
	}
}

func TestTokensOfOtherForms(t *testing.T) {
	for _, tc := range []struct {
		name, tail string
		change     func(*Entity)
	}{
		{"verbose QoS", "/1:2:1,42:9223372036,854775807:,:1,9223372036,854775807", func(e *Entity) { e.QoS = QoS{}.Resolved() }},
		{"a chunk of later releases", "/2::,5:,:,:,,/new:thing", func(*Entity) {}},
		{"a chunk behind the backends", "/2::,5:,:,:,,/backends:cpu:/more", func(e *Entity) { e.Backends = BackendsCPU }},
		{"backends in another order", "/2::,5:,:,:,,/backends:cuda:x;cpu:", func(e *Entity) { e.Backends = "cpu:;cuda:x" }},
		{"no backends in the list", "/2::,5:,:,:,,/backends:", func(*Entity) {}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := with(golden[2].entity, tc.change)
			got, err := ParseToken(strings.TrimSuffix(golden[2].token, "/2::,5:,:,:,,") + tc.tail)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	humble := strings.Replace(golden[2].token, imageHash, HashNotSupported, 1)
	e, err := ParseToken(humble)
	if err != nil || e.Token() != humble {
		t.Errorf("a token of Humble becomes %q, %v", e.Token(), err)
	}
	if e.Hash = ""; e.Token() != humble {
		t.Errorf("without a hash the token is %q", e.Token())
	}
	strange := strings.Replace(golden[2].token, "sensor_msgs::msg::dds_::Image_", "dds_::Image", 1)
	if e, err := ParseToken(strange); err != nil || e.Type != "dds_::Image" || e.Token() != strange {
		t.Errorf("a token of an unknown form of type becomes %+v, %v", e, err)
	}
}

func TestBackendsAreEscaped(t *testing.T) {
	list := []Backend{{"z/1", "a=%3B;b:c"}, {"cpu", ""}}
	const want = "cpu:;z%2F1:a=%253B%3Bb%3Ac"
	if got := FormatBackends(list); got != want {
		t.Errorf("list %q, want %q", got, want)
	}
	got, err := ParseBackends(want)
	if d := cmp.Diff([]Backend{list[1], list[0]}, got); err != nil || d != "" {
		t.Errorf("%v, -want +got:\n%s", err, d)
	}
	e := with(golden[2].entity, func(e *Entity) { e.Backends = want })
	if back, err := ParseToken(e.Token()); err != nil || back.Backends != want {
		t.Errorf("back from the token: %q, %v", back.Backends, err)
	}
}

// FuzzParseToken holds that a token that is read is written in one form, and
// that whatever is read may be declared, apart from the type's name.
func FuzzParseToken(f *testing.F) {
	for _, g := range golden {
		f.Add(g.token)
	}
	f.Add(strings.Replace(golden[2].token, imageHash, HashNotSupported, 1) + "/backends:z%2F1:a%253B;cpu:")
	f.Add(strings.Replace(golden[2].token, "2::,5:,:,:,,", "1:2:1,10:0,0:5,:2,,7", 1))
	f.Add("@ros2_lv/0/1/2/3/NN/%/%/n/more")
	f.Fuzz(func(t *testing.T, s string) {
		e, err := ParseToken(s)
		if err != nil {
			return
		}
		token := e.Token()
		again, err := ParseToken(token)
		if err != nil {
			t.Fatalf("%q is written as %q: %v", s, token, err)
		}
		e.QoS = again.QoS // resolved now
		if again != e || again.Token() != token {
			t.Errorf("%q is read as %+v, written as %q, read as %+v", s, e, token, again)
		}
		if err := again.Validate(); err != nil && !errors.Is(err, ErrType) {
			t.Errorf("%q: %v", s, err)
		}
		if e.Kind != KindNode && ValidateType(e.Type) == nil && ValidHash(e.Hash) {
			if k, err := ParseKey(e.Key()); err != nil || k.Topic != e.Topic || k.Type != e.Type || k.Hash != e.Hash {
				t.Errorf("the key %q is read as %+v, %v", e.Key(), k, err)
			}
		}
	})
}
