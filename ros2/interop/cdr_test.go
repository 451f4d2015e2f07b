// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"testing/quick"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-3c7e7623/camd/ros2/msg"
)

type message interface {
	AppendCDR(b []byte) []byte
	DecodeCDR(b []byte) error
}

// kinds are the messages, and which codecs know them.
var kinds = []struct {
	typ    msg.Type
	empty  message
	pycdr2 bool
}{
	{msg.TypeCameraInfo, &msg.CameraInfo{}, true},
	{msg.TypeCompressedImage, &msg.CompressedImage{}, true},
	{msg.TypeDiagnosticArray, &msg.DiagnosticArray{}, false},
	{msg.TypeDiagnosticStatus, &msg.DiagnosticStatus{}, false},
	{msg.TypeHeader, &msg.Header{}, true},
	{msg.TypeImage, &msg.Image{}, true},
	{msg.TypeImu, &msg.Imu{}, true},
	{msg.TypePointCloud2, &msg.PointCloud2{}, true},
	{msg.TypePointField, &msg.PointField{}, true},
	{msg.TypeRegionOfInterest, &msg.RegionOfInterest{}, true},
	{msg.TypeString, &msg.String{}, true},
	{msg.TypeTFMessage, &msg.TFMessage{}, false},
	{msg.TypeTime, &msg.Time{}, true},
	{msg.TypeTransformStamped, &msg.TransformStamped{}, true},
}

// distributions are those that rosbags has the definitions of.
var distributions = []string{"humble", "jazzy", "kilted", "lyrical"}

func fresh(m message) message { return reflect.New(reflect.TypeOf(m).Elem()).Interface().(message) }

// some are an empty message and random ones. Seconds are not negative, since
// mcap-ros2-support takes them for unsigned, levels not over 127, since rosbags
// takes a byte for signed, and no text has a NUL.
func some(t *testing.T, empty message, n int) []message {
	t.Helper()
	random := rand.New(rand.NewSource(7))
	list := []message{fresh(empty)}
	for range n {
		v, ok := quick.Value(reflect.TypeOf(empty).Elem(), random)
		if !ok {
			t.Fatalf("%T has no random value", empty)
		}
		tame(v)
		m := fresh(empty)
		reflect.ValueOf(m).Elem().Set(v)
		list = append(list, m)
	}
	return list
}

func tame(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			tame(v.Field(i))
		}
		if level := v.FieldByName("Level"); level.IsValid() {
			level.SetUint(level.Uint() & 0x7f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			tame(v.Index(i))
		}
	case reflect.Int32:
		v.SetInt(v.Int() & 0x7fffffff)
	case reflect.String:
		v.SetString(strings.ReplaceAll(v.String(), "\x00", "·"))
	}
}

// TestMessagesWithIndependentCodecs has our bytes read field for field by
// others, and theirs, of both byte orders, by us.
func TestMessagesWithIndependentCodecs(t *testing.T) {
	t.Parallel()
	type exchange struct {
		what string
		m    message
	}
	var requests []request
	var about []exchange
	for _, k := range kinds {
		by := []string{"mcap"}
		for _, d := range distributions {
			by = append(by, "rosbags:"+d)
		}
		if k.pycdr2 {
			by = append(by, "pycdr2")
		}
		for i, m := range some(t, k.empty, 4) {
			for _, b := range by {
				base := request{By: b, Type: k.typ.Name}
				if b == "mcap" {
					base.Definition = k.typ.Definition()
				}
				add := func(r request) {
					requests = append(requests, r)
					about = append(about, exchange{fmt.Sprintf("%s %d %s by %s, big-endian %v", k.typ.Name, i, r.Do, b, r.Big), m})
				}
				r := base
				r.Do, r.Hex = "decode", hex.EncodeToString(m.AppendCDR(nil))
				add(r)
				r = base
				r.Do, r.Fields = "encode", fields(reflect.ValueOf(m))
				add(r)
				if b != "mcap" { // which writes little-endian only
					r.Big = true
					add(r)
				}
			}
		}
	}
	for i, r := range ask(t, requests) {
		q, what, m := requests[i], about[i].what, about[i].m
		switch {
		case r.Error != "":
			t.Errorf("%s: %s", what, r.Error)
		case q.Do == "decode":
			if diff := cmp.Diff(fields(reflect.ValueOf(m)), r.Fields); diff != "" {
				t.Errorf("%s: %s", what, diff)
			}
		default:
			b, err := hex.DecodeString(r.Hex)
			if err != nil {
				t.Fatal(err)
			}
			if want := m.AppendCDR(nil); !q.Big && !bytes.Equal(b, want) {
				t.Errorf("%s:\ntheirs %x\nours   %x", what, b, want)
			}
			if q.Big && (len(b) < 2 || b[1] != 0) {
				t.Errorf("%s is not big-endian: %x", what, b)
			}
			got := fresh(m)
			if err := got.DecodeCDR(b); err != nil {
				t.Errorf("%s: %v", what, err)
			} else if diff := cmp.Diff(m, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s", what, diff)
			}
		}
	}
	t.Logf("%d exchanges", len(requests))
}
