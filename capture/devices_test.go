// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func capability(card string, all, node uint32) (c [capabilityBytes]byte) {
	copy(c[capCardOffset:], card)
	binary.NativeEndian.PutUint32(c[capAllOffset:], all)
	binary.NativeEndian.PutUint32(c[capThisNodeOffset:], node)
	return c
}

func devRoot(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "dev"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if err := os.WriteFile(filepath.Join(root, "dev", n), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFirstVideoDevice(t *testing.T) {
	const both = capVideoCapture | capStreaming
	root := devRoot(t, "video0", "video10", "video2", "video01", "videox", "vbi0")
	nodes := map[string][capabilityBytes]byte{
		"video0":  capability("Meta Cam", both|capDeviceCaps, capStreaming|1<<23), // metadata node of a camera
		"video2":  capability("Good Cam", both, 0),
		"video10": capability("Later Cam", both|capDeviceCaps, both),
	}
	var asked []string
	query := func(path string) (c [capabilityBytes]byte, err error) {
		asked = append(asked, filepath.Base(path))
		return nodes[filepath.Base(path)], nil
	}
	path, card, err := firstVideoDevice(root, query)
	if err != nil || path != filepath.Join(root, "dev", "video2") || card != "Good Cam" {
		t.Errorf("%q %q %v, want video2, Good Cam", path, card, err)
	}
	if want := []string{"video0", "video2"}; !slices.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
	// An image processor that must be set up by its media controller first will
	// not do, a multi-planar camera will.
	nodes["video0"] = capability("ISP", capVideoMplane|capStreaming|capMediaController, 0)
	nodes["video2"] = capability("Planar Cam", capVideoMplane|capStreaming, 0)
	if path, card, err = firstVideoDevice(root, query); err != nil || filepath.Base(path) != "video2" || card != "Planar Cam" {
		t.Errorf("%q %q %v, want video2, Planar Cam", path, card, err)
	}
	delete(nodes, "video2")
	if path, card, err = firstVideoDevice(root, query); err != nil || filepath.Base(path) != "video10" || card != "Later Cam" {
		t.Errorf("%q %q %v, want video10, Later Cam", path, card, err)
	}
}

func TestNoVideoDevice(t *testing.T) {
	for _, c := range []struct{ name, root, says string }{
		{"no directory", t.TempDir(), "video*"},
		{"none", devRoot(t, "null"), "video*"},
		{"not a device", devRoot(t, "video0"), "video0: " + unix.ENOTTY.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := FirstVideoDevice(c.root)
			if !errors.Is(err, ErrDeviceNotFound) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %v that says %q", err, ErrDeviceNotFound, c.says)
			}
		})
	}
}
