// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"errors"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	long := "/" + strings.Repeat("a", MaxTopic-1)
	for _, tc := range []struct {
		name                   string
		topic, namespace, node bool
	}{
		{"", false, false, false},
		{"/", false, true, false},
		{"a", false, false, true},
		{"_a9", false, false, true},
		{"9a", false, false, false},
		{"/a", true, true, false},
		{"/a/_hidden/B2", true, true, false},
		{"/a/2b", false, false, false},
		{"/a//b", false, false, false},
		{"/a/", false, false, false},
		{"/a-b", false, false, false},
		{"/a b", false, false, false},
		{"/é", false, false, false},
		{"/~/a", false, false, false},
		{"/a%b", false, false, false},
		{"/*", false, false, false},
		{long, true, false, false},
		{long + "a", false, false, false},
		{long[:MaxNamespace], true, true, false},
		{strings.Repeat("a", MaxNode), false, false, true},
		{strings.Repeat("a", MaxNode+1), false, false, false},
	} {
		for _, v := range []struct {
			what string
			err  error
			want bool
		}{
			{"topic", ValidateTopic(tc.name), tc.topic},
			{"namespace", ValidateNamespace(tc.name), tc.namespace},
			{"node", ValidateNode(tc.name), tc.node},
		} {
			if (v.err == nil) != v.want || v.err != nil && !errors.Is(v.err, ErrName) {
				t.Errorf("%s %.50q of %d bytes: %v, want valid %v", v.what, tc.name, len(tc.name), v.err, v.want)
			}
		}
	}
}

func TestResolveTopic(t *testing.T) {
	for _, tc := range []struct{ namespace, node, name, want string }{
		{"/", "cam", "image", "/image"},
		{"/robot", "cam", "color/image_raw", "/robot/color/image_raw"},
		{"/robot", "cam", "/image", "/image"},
		{"/robot", "cam", "~/image", "/robot/cam/image"},
		{"/", "cam", "~", "/cam"},
		{"/", "cam", "~image", ""},
		{"/", "cam", "", ""},
		{"/", "cam", "image/", ""},
		{"/", "", "~/image", ""},
		{"robot", "cam", "image", ""},
		{"/", "cam", "{node}/image", ""},
	} {
		got, err := ResolveTopic(tc.namespace, tc.node, tc.name)
		if got != tc.want || (err == nil) != (tc.want != "") || err != nil && !errors.Is(err, ErrName) {
			t.Errorf("%q of node %q in %q is %q, %v, want %q", tc.name, tc.node, tc.namespace, got, err, tc.want)
		}
	}
	for in, want := range map[string]string{"": "/", "/": "/", "robot": "/robot", "/a/b/": "/a/b", "a//b": "", "1": ""} {
		if got, err := Namespace(in); got != want || (err == nil) != (want != "") {
			t.Errorf("namespace %q becomes %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestTypeNames(t *testing.T) {
	for ros, wire := range map[string]string{
		"sensor_msgs/msg/Image":             "sensor_msgs::msg::dds_::Image_",
		"example/action/Fibonacci_SendGoal": "example::action::dds_::Fibonacci_SendGoal_",
		"std_srvs/srv/Trigger":              "std_srvs::srv::dds_::Trigger_",
		"sensor_msgs::msg::Image_":          "sensor_msgs::msg::Image_",
		"a::b::dds_::Image":                 "a::b::dds_::Image",
		"a::b::c::dds_::Image_":             "a::b::c::dds_::Image_",
		"a::b::dds_::_":                     "a::b::dds_::_",
		"a/b/dds_":                          "a::b::dds_::dds__",
	} {
		if got := WireType(ros); got != wire {
			t.Errorf("%s is %s on the wire, want %s", ros, got, wire)
		}
		if got := ROSType(wire); got != ros {
			t.Errorf("%s is %s in ROS, want %s", wire, got, ros)
		}
	}
	for name, valid := range map[string]bool{"a/msg/B": true, "a/B": false, "a/msg/B/c": false, "a::msg::dds_::B_": false, "": false} {
		if err := ValidateType(name); (err == nil) != valid || err != nil && !errors.Is(err, ErrType) {
			t.Errorf("type %q: %v", name, err)
		}
	}
}

// FuzzNames holds that a name that is valid is what it was after a way
// through mangling, and that a resolved one is valid and resolves to itself.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"/a/b", "~/x", "rel/ative", "/", "", "/a%b", "a::msg::dds_::B_", "pkg/msg/Name", "/é", "~~"} {
		f.Add("/ns", "node", s)
	}
	f.Fuzz(func(t *testing.T, namespace, node, s string) {
		if ValidateTopic(s) == nil || ValidateNamespace(s) == nil {
			if got := Unmangle(Mangle(s)); got != s {
				t.Errorf("%q becomes %q", s, got)
			}
		}
		if !strings.Contains(s, "/") && WireType(ROSType(s)) != s {
			t.Errorf("wire type %q becomes %q", s, WireType(ROSType(s)))
		}
		if ValidateType(s) == nil && ROSType(WireType(s)) != s {
			t.Errorf("type %q becomes %q", s, ROSType(WireType(s)))
		}
		full, err := ResolveTopic(namespace, node, s)
		if err != nil {
			return
		}
		if again, err := ResolveTopic(namespace, node, full); err != nil || again != full {
			t.Errorf("%q resolves to %q, that to %q, %v", s, full, again, err)
		}
	})
}
