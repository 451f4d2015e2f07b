// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import "errors"

// What is wrong with names and with what others declare or send. Errors of
// this package wrap one of them.
var (
	// ErrName reports a topic, node or namespace that ROS 2 does not allow.
	ErrName = errors.New("invalid ROS name")
	// ErrType reports a message type that is not package/msg/Name.
	ErrType = errors.New("invalid ROS type name")
	// ErrKey reports a key that is not that of a topic.
	ErrKey = errors.New("not the key of a ROS topic")
	// ErrQoS reports a QoS text that rmw_zenoh_cpp would not take either.
	ErrQoS = errors.New("invalid QoS")
	// ErrChunks reports a token with too few chunks, an empty one, one that is
	// too long, or that does not begin as tokens of ROS 2 do.
	ErrChunks = errors.New("not a liveliness token of ROS 2")
	// ErrKind reports a token of an unknown kind of entity.
	ErrKind = errors.New("unknown kind of entity")
	// ErrNumber reports a token whose domain, session or ids are no numbers.
	ErrNumber = errors.New("invalid number")
	// ErrBackends reports a list of buffer backends that cannot be read.
	ErrBackends = errors.New("invalid list of buffer backends")
	// ErrAttachment reports an attachment of neither form.
	ErrAttachment = errors.New("not an attachment of rmw_zenoh")
	// ErrDomain reports a token of another domain than the cache is for.
	ErrDomain = errors.New("token of another domain")
	// ErrFull reports a token that the cache has no room for.
	ErrFull = errors.New("graph cache is full")
)
