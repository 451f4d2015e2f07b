// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const imageKey = "0/cam0/image_raw/sensor_msgs::msg::dds_::Image_/" + imageHash

func TestTopicKeys(t *testing.T) {
	if got := TopicKey(0, "/cam0/image_raw", "sensor_msgs/msg/Image", imageHash); got != imageKey {
		t.Errorf("key %s, want %s", got, imageKey)
	}
	gid, err := ParseGID("e52d904ce924c1800322b609e8a7f7ea")
	if err != nil {
		t.Fatal(err)
	}
	k := Key{Topic: "/cam0/image_raw", Type: "sensor_msgs/msg/Image", Hash: imageHash}
	humble, cpu, own, other := k, k, k, k
	humble.Hash = HashNotSupported
	cpu.CPU = true
	own.Buffer, own.Subscriber = true, gid
	other.Domain, other.Topic = 232, "/x"
	for key, want := range map[string]Key{
		imageKey: k,
		"0/cam0/image_raw/sensor_msgs::msg::dds_::Image_/TypeHashNotSupported": humble,
		imageKey + "/_buf_cpu":                              cpu,
		imageKey + "/_buf/e52d904ce924c1800322b609e8a7f7ea": own,
		"232/x/sensor_msgs::msg::dds_::Image_/" + imageHash: other,
	} {
		got, err := ParseKey(key)
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s -want +got:\n%s", key, d)
		}
		if s := got.String(); s != key {
			t.Errorf("%s is written as %s", key, s)
		}
	}
	for _, key := range []string{
		"", "0", "0/x/" + imageHash, "x/cam0/t/" + imageHash, "0//t/" + imageHash, "0/9/t/h", "-1/a/t/h", "0/a/t/", "0/a//h",
		"0/*/t/h", "0/a/**/h", imageKey + "/_buf/xyz", imageKey + "/_buf/E52D904CE924C1800322B609E8A7F7EA", "_buf_cpu", "0/_buf_cpu",
		"rt/cam0/image_raw", "cam0/image_raw", "@ros2_lv/0/a/t/h", "0/a/t/h\x00",
	} {
		if k, err := ParseKey(key); !errors.Is(err, ErrKey) {
			t.Errorf("key %q is %+v, %v", key, k, err)
		}
	}
}

func TestValidHash(t *testing.T) {
	for hash, want := range map[string]bool{
		imageHash: true, HashNotSupported: true, "": true,
		imageHash[1:]: false, imageHash[:70]: false, imageHash + "0": false, "RIHS01_" + strings.Repeat("A", 64): false, "RIHS02" + imageHash[6:]: false,
	} {
		if ValidHash(hash) != want {
			t.Errorf("hash %q is valid: %v", hash, !want)
		}
	}
}

func TestKeysOfEndpoints(t *testing.T) {
	node := NewNode(0, zidA, 0, "/cam0", "camera_driver")
	if got, want := node.Token(), golden[1].token; got != want {
		t.Errorf("node %s, want %s", got, want)
	}
	pub := node.Publisher(1, "/cam0/image_raw", "sensor_msgs/msg/Image", imageHash, SensorData())
	if pub.Token() != golden[2].token || pub.Key() != imageKey {
		t.Errorf("publisher %s with the key %s", pub.Token(), pub.Key())
	}
	viewer := NewNode(0, zidA, 0, "", "viewer")
	sub := func(typeName string, q QoS) Entity {
		return viewer.Subscriber(3, "/cam0/image_raw", typeName, imageHash, q)
	}
	for _, tc := range []struct {
		name, token string
		entity      Entity
		keys        []string
	}{
		{"images", golden[6].token, sub("sensor_msgs/msg/Image", SensorData()), []string{imageKey, imageKey + "/_buf_cpu"}},
		{"latched images", "", sub("sensor_msgs/msg/Image", Latched()), []string{imageKey}},
		{"what has no byte array", "", sub("sensor_msgs/msg/Imu", SensorData()), []string{strings.Replace(imageKey, "Image_", "Imu_", 1)}},
		{
			"images on a GPU", golden[7].token, with(sub("sensor_msgs/msg/Image", SensorData()), func(e *Entity) { e.Backends = "cuda:" }),
			[]string{imageKey, imageKey + "/_buf/" + golden[7].gid},
		},
	} {
		if got := tc.entity.ListenKeys(); !slices.Equal(got, tc.keys) {
			t.Errorf("%s: listens to %q, want %q", tc.name, got, tc.keys)
		}
		if got := tc.entity.Token(); tc.token != "" && got != tc.token {
			t.Errorf("%s: token %s, want %s", tc.name, got, tc.token)
		}
		if err := tc.entity.Validate(); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	for _, tc := range []struct {
		change func(*Entity)
		want   error
	}{
		{func(e *Entity) { e.Domain = -1 }, ErrNumber},
		{func(e *Entity) { e.ZID = "" }, ErrNumber},
		{func(e *Entity) { e.Kind = 0 }, ErrKind},
		{func(e *Entity) { e.Kind = 6 }, ErrKind},
		{func(e *Entity) { e.Namespace = "x" }, ErrName},
		{func(e *Entity) { e.Enclave = "/a%b" }, ErrName},
		{func(e *Entity) { e.Node = "" }, ErrName},
		{func(e *Entity) { e.Topic = "x" }, ErrName},
		{func(e *Entity) { e.Type = "x" }, ErrType},
		{func(e *Entity) { e.Hash = "a/b" }, ErrType},
		{func(e *Entity) { e.Backends = "cpu" }, ErrBackends},
	} {
		if err := with(pub, tc.change).Validate(); !errors.Is(err, tc.want) {
			t.Errorf("error %v, want %v", err, tc.want)
		}
	}
}
