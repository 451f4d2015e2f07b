// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
)

// same reports whether two nodes, seen at different times, are the same
// function of the same camera. Numbers of nodes change when a camera is plugged
// in again, serial numbers do not; without one the port must be the same.
func (n Node) same(other Node) bool {
	if n.Vendor != other.Vendor || n.Product != other.Product || n.Serial != other.Serial || n.Index != other.Index || n.Name != other.Name {
		return false
	}
	if n.Vendor == "" || n.Serial == "" {
		return n.Parent == other.Parent
	}
	_, a := n.port()
	_, b := other.port()
	return a == b
}

// known reports whether the node can be recognised later.
func (n Node) known() bool { return n.Parent != "" }

// find looks for the node that target names: a path, a link of udev even where
// udev did not make it, or "" for the first camera. With a camera seen before,
// that one is looked for, wherever it is now: another camera must not appear
// under its name. It fails with [capture.ErrDeviceNotFound].
func find(root, target string, seen *Node) (Node, error) {
	nodes := Nodes(root)
	if seen != nil && seen.known() {
		return findAgain(nodes, *seen)
	}
	if target == "" {
		path, _, err := capture.FirstVideoDevice(root)
		if err != nil {
			return Node{}, err
		}
		target = path
	}
	if path, err := filepath.EvalSymlinks(target); err == nil {
		for _, n := range nodes {
			if n.Path == path {
				return n, nil
			}
		}
		return Node{Path: path}, nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return Node{}, fmt.Errorf("%s: %w", target, err)
	}
	dir, base := filepath.Split(target)
	link := strings.Replace(base, "-usbv2-", "-usb-", 1)
	for _, n := range nodes {
		if (filepath.Base(dir) == "by-id" && n.ByID() == base) || (filepath.Base(dir) == "by-path" && n.byPath() == link) {
			return n, nil
		}
	}
	return Node{}, fmt.Errorf("%w: %s%s", capture.ErrDeviceNotFound, target, among(nodes))
}

func findAgain(nodes []Node, seen Node) (Node, error) {
	var found []Node
	for _, n := range nodes {
		if n.same(seen) {
			found = append(found, n)
		}
	}
	if len(found) == 0 {
		return Node{}, fmt.Errorf("%w: %s is not plugged in%s", capture.ErrDeviceNotFound, seen.label(), among(nodes))
	}
	// Cheap cameras all have one serial number: where it was is best.
	if i := slices.IndexFunc(found, func(n Node) bool { return n.Parent == seen.Parent }); i >= 0 {
		return found[i], nil
	}
	return found[0], nil
}

// among says what is there instead.
func among(nodes []Node) string {
	if len(nodes) == 0 {
		return "; there is no video device"
	}
	names := make([]string, 0, len(nodes))
	for _, n := range nodes {
		names = append(names, n.label())
	}
	return "; there are " + strings.Join(names, ", ")
}
