// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"strings"
)

// Limits of ROS 2 in bytes (rmw/validate_full_topic_name.h,
// rmw/validate_namespace.h, rmw/validate_node_name.h).
const (
	MaxTopic     = 255 - 8
	MaxNamespace = MaxTopic - 2
	MaxNode      = 255
)

// ValidateTopic fails with [ErrName] unless name is a fully qualified topic or
// service name: /a/b of letters, digits and underscores, no chunk empty or with
// a digit in front.
func ValidateTopic(name string) error {
	if name == "/" {
		return fmt.Errorf("%w: topic \"/\" has no name", ErrName)
	}
	return path("topic", name, MaxTopic)
}

// ValidateNamespace fails with [ErrName] unless name is "/" or like a topic.
func ValidateNamespace(name string) error {
	if name == "/" {
		return nil
	}
	return path("namespace", name, MaxNamespace)
}

// ValidateNode fails with [ErrName] unless name is one chunk.
func ValidateNode(name string) error {
	if len(name) > MaxNode {
		return fmt.Errorf("%w: node %.40q… has %d bytes, at most %d", ErrName, name, len(name), MaxNode)
	}
	if !chunk(name) {
		return fmt.Errorf("%w: node %.100q must be letters, digits and underscores without a digit in front", ErrName, name)
	}
	return nil
}

func path(what, name string, limit int) error {
	if len(name) > limit {
		return fmt.Errorf("%w: %s %.40q… has %d bytes, at most %d", ErrName, what, name, len(name), limit)
	}
	rest, absolute := strings.CutPrefix(name, "/")
	if !absolute {
		return fmt.Errorf("%w: %s %.100q must begin with \"/\"", ErrName, what, name)
	}
	for c := range strings.SplitSeq(rest, "/") {
		if !chunk(c) {
			return fmt.Errorf("%w: %s %.100q: %.40q must be letters, digits and underscores without a digit in front", ErrName, what, name, c)
		}
	}
	return nil
}

// chunk reports whether s is [A-Za-z_][A-Za-z0-9_]*.
func chunk(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// ResolveTopic makes a topic name fully qualified, as ROS 2 does: "/x" stays,
// "x" lies in the namespace, "~" and "~/x" below the node. It fails with
// [ErrName].
func ResolveTopic(namespace, node, name string) (string, error) {
	if err := ValidateNamespace(namespace); err != nil {
		return "", err
	}
	rest, private := strings.CutPrefix(name, "~")
	switch {
	case private && (rest == "" || rest[0] == '/'):
		if err := ValidateNode(node); err != nil {
			return "", err
		}
		name = Join(namespace, node) + rest
	case !strings.HasPrefix(name, "/"):
		name = Join(namespace, name)
	}
	if err := ValidateTopic(name); err != nil {
		return "", err
	}
	return name, nil
}

// Namespace returns name as a namespace with a slash in front and none at the
// end, the form that ROS_NAMESPACE is brought into: "" and "/" are "/". It
// fails with [ErrName].
func Namespace(name string) (string, error) {
	s := "/" + strings.Trim(name, "/")
	if err := ValidateNamespace(s); err != nil {
		return "", err
	}
	return s, nil
}

// Join returns the relative name below a namespace, which may be "" or "/".
func Join(namespace, name string) string {
	return strings.TrimSuffix(namespace, "/") + "/" + name
}
