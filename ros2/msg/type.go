// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"embed"
	"strings"

	"github.com/seed-3c7e7623/camd/ros2/msg/typehash"
)

// Type is a message type as the tools and the network know it.
type Type struct {
	Name string // "sensor_msgs/msg/Image"
	Hash string // "RIHS01_" and 64 hexadecimal digits
}

// The types of this package. Their hashes are computed from the definitions in
// the folder definitions, and are the same from Jazzy to Rolling.
var (
	TypeCameraInfo       = typeOf("sensor_msgs/msg/CameraInfo")
	TypeCompressedImage  = typeOf("sensor_msgs/msg/CompressedImage")
	TypeDiagnosticArray  = typeOf("diagnostic_msgs/msg/DiagnosticArray")
	TypeDiagnosticStatus = typeOf("diagnostic_msgs/msg/DiagnosticStatus")
	TypeHeader           = typeOf("std_msgs/msg/Header")
	TypeImage            = typeOf("sensor_msgs/msg/Image")
	TypeImu              = typeOf("sensor_msgs/msg/Imu")
	TypePointCloud2      = typeOf("sensor_msgs/msg/PointCloud2")
	TypePointField       = typeOf("sensor_msgs/msg/PointField")
	TypeRegionOfInterest = typeOf("sensor_msgs/msg/RegionOfInterest")
	TypeString           = typeOf("std_msgs/msg/String")
	TypeTFMessage        = typeOf("tf2_msgs/msg/TFMessage")
	TypeTime             = typeOf("builtin_interfaces/msg/Time")
	TypeTransformStamped = typeOf("geometry_msgs/msg/TransformStamped")
)

//go:embed definitions
var definitions embed.FS

// text is the definition of a type of ours.
func text(name string) (string, bool) {
	pkg, rest, _ := strings.Cut(name, "/msg/")
	b, err := definitions.ReadFile("definitions/" + pkg + "/" + rest + ".msg")
	return string(b), err == nil
}

// typeOf is only for names whose definitions are embedded; the tests hold each
// of them.
func typeOf(name string) Type {
	hash, err := typehash.Of(name, text)
	if err != nil {
		panic(err)
	}
	return Type{Name: name, Hash: hash}
}

// Wire is the name of the type in keys and tokens:
// "sensor_msgs::msg::dds_::Image_".
func (t Type) Wire() string {
	i := strings.LastIndexByte(t.Name, '/')
	return strings.ReplaceAll(t.Name[:i+1], "/", "::") + "dds_::" + t.Name[i+1:] + "_"
}

// separator stands between the definitions of [Type.Definition].
var separator = strings.Repeat("=", 80) + "\n"

// Definition is the definition of the type and of all that it refers to, in
// the form that recordings keep: each after the first behind a line of 80 "="
// and one with "MSG: pkg/Name". It is empty for a type not of this package.
func (t Type) Definition() string {
	own, ok := text(t.Name)
	if !ok {
		return ""
	}
	names, err := typehash.References(t.Name, text)
	if err != nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(own)
	for _, n := range names {
		def, _ := text(n)
		b.WriteString(separator + "MSG: " + strings.Replace(n, "/msg/", "/", 1) + "\n" + def)
	}
	return b.String()
}
