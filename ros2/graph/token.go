// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxToken is the most bytes of a token that is read. The longest names that
// ROS 2 allows need about half.
const MaxToken = 2048

// ParseToken reads a token. Its fields are what [Entity.Token] makes of them
// again, with QoS brought into the shortest form. What follows the last chunk
// that is known is ignored. It fails with [ErrChunks], [ErrKind], [ErrNumber],
// [ErrName], [ErrQoS] or [ErrBackends]. A type or hash of an unknown form stays
// as it is, as rmw_zenoh_cpp shows it too.
func ParseToken(s string) (Entity, error) {
	if len(s) > MaxToken {
		return Entity{}, fmt.Errorf("%w: %d bytes, at most %d", ErrChunks, len(s), MaxToken)
	}
	if !printable(s) {
		return Entity{}, fmt.Errorf("%w: %.100q has characters that no name of ROS has", ErrName, s)
	}
	c := strings.Split(s, "/")
	switch {
	case c[0] != admin:
		return Entity{}, fmt.Errorf("%w: %.100q does not begin with %s", ErrChunks, s, admin)
	case len(c) < 9:
		return Entity{}, fmt.Errorf("%w: %.100q has %d chunks, want at least 9", ErrChunks, s, len(c))
	}
	for _, chunk := range c {
		if chunk == "" {
			return Entity{}, fmt.Errorf("%w: %.100q has an empty chunk", ErrChunks, s)
		}
	}
	e, err := parseNode(c)
	if err == nil && e.Kind != KindNode {
		err = parseEndpoint(&e, c)
	}
	if err != nil {
		return Entity{}, fmt.Errorf("token %.300q: %w", s, err)
	}
	return e, nil
}

// parseNode reads the chunks that all tokens have.
func parseNode(c []string) (e Entity, err error) {
	domain, err1 := number(c[1], strconv.IntSize-1)
	nid, err2 := number(c[3], 64)
	id, err3 := number(c[4], 64)
	switch {
	case err1 != nil:
		return e, fmt.Errorf("%w: domain %.40q", ErrNumber, c[1])
	case !zid(c[2]):
		return e, fmt.Errorf("%w: session %.40q", ErrNumber, c[2])
	case err2 != nil || err3 != nil:
		return e, fmt.Errorf("%w: ids %.40q and %.40q", ErrNumber, c[3], c[4])
	}
	e = Entity{
		Domain: int(domain), ZID: c[2], NodeID: nid, ID: id,
		Enclave: Unmangle(c[6]), Namespace: Unmangle(c[7]), Node: c[8],
	}
	for k, s := range kinds {
		if s != "" && s == c[5] {
			e.Kind = Kind(k)
		}
	}
	if e.Kind == 0 {
		return e, fmt.Errorf("%w: %.40q", ErrKind, c[5])
	}
	if err := ValidateNamespace(e.Namespace); err != nil {
		return e, err
	}
	return e, ValidateNode(e.Node)
}

func parseEndpoint(e *Entity, c []string) error {
	if len(c) < 13 {
		return fmt.Errorf("%w: %d chunks of a %v, want at least 13", ErrChunks, len(c), e.Kind)
	}
	e.Topic, e.Type, e.Hash = Unmangle(c[9]), ROSType(c[10]), c[11]
	if err := ValidateTopic(e.Topic); err != nil {
		return err
	}
	var err error
	if e.QoS, err = ParseQoS(c[12]); err != nil {
		return err
	}
	if len(c) > 13 {
		if list, ok := strings.CutPrefix(c[13], backendsPrefix); ok {
			e.Backends, err = canonicalBackends(list)
		}
	}
	return err
}
