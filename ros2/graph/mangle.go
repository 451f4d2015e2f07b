// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"strings"
)

// Mangle makes one chunk of a key of a name: each "/" becomes "%". An empty
// name becomes "%", since a chunk may not be empty.
func Mangle(name string) string {
	if name == "" {
		return "%"
	}
	return strings.ReplaceAll(name, "/", "%")
}

// Unmangle is the reverse of [Mangle].
func Unmangle(s string) string { return strings.ReplaceAll(s, "%", "/") }

// ValidateType fails with [ErrType] unless name is package/msg/Name, or with
// srv or action in the middle.
func ValidateType(name string) error {
	if _, ok := typeChunks(name, "/"); !ok {
		return fmt.Errorf("%w: %.100q is not package/msg/Name", ErrType, name)
	}
	return nil
}

func typeChunks(name, by string) ([]string, bool) {
	c := strings.Split(name, by)
	return c, len(c) == 3 && chunk(c[0]) && chunk(c[1]) && chunk(c[2])
}

// WireType returns the form that a type has in keys and tokens:
// sensor_msgs/msg/Image is sensor_msgs::msg::dds_::Image_. A name that does
// not have the form package/msg/Name stays.
func WireType(name string) string {
	c, ok := typeChunks(name, "/")
	if !ok {
		return name
	}
	return c[0] + "::" + c[1] + "::dds_::" + c[2] + "_"
}

// ROSType is the reverse of [WireType]. What does not have the wire's form
// stays.
func ROSType(wire string) string {
	head, name, ok := strings.Cut(wire, "::dds_::")
	name, tail := strings.CutSuffix(name, "_")
	if !ok || !tail {
		return wire
	}
	c, ok := typeChunks(head+"::"+name, "::")
	if !ok {
		return wire
	}
	return strings.Join(c, "/")
}
