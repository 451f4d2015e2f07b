// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// From linux/videodev2.h.
const (
	vidiocQueryCap     = 0x80685600
	capabilityBytes    = 104
	capVideoCapture    = 1 << 0
	capVideoMplane     = 1 << 12
	capMediaController = 1 << 29 // needs to be set up by other means first
	capStreaming       = 1 << 26
	capDeviceCaps      = 1 << 31
	capCardOffset      = 16
	capCardBytes       = 32
	capAllOffset       = 84
	capThisNodeOffset  = 88
	videoNodePrefix    = "video"
	videoNodeDirectory = "dev"
)

// FirstVideoDevice returns the first node under root/dev (root "/" on a real
// host) that can capture and stream, by number, and the name of its card. It
// fails with [ErrDeviceNotFound], and says which nodes were there and why they
// would not do.
func FirstVideoDevice(root string) (path, card string, err error) {
	return firstVideoDevice(root, queryCap)
}

func firstVideoDevice(root string, query func(path string) ([capabilityBytes]byte, error)) (path, card string, err error) {
	dir := filepath.Join(root, videoNodeDirectory)
	nodes := videoNodes(dir)
	if len(nodes) == 0 {
		return "", "", fmt.Errorf("%w: no %s", ErrDeviceNotFound, filepath.Join(dir, videoNodePrefix+"*"))
	}
	var reasons []error
	for _, n := range nodes {
		c, err := query(n)
		if err != nil {
			reasons = append(reasons, fmt.Errorf("%s: %w", n, err))
			continue
		}
		if card, ok := canCapture(c); ok {
			return n, card, nil
		}
		reasons = append(reasons, fmt.Errorf("%s: does not capture video", n))
	}
	return "", "", fmt.Errorf("%w: %w", ErrDeviceNotFound, errors.Join(reasons...))
}

// videoNodes lists video0, video1 ... of dir by number.
func videoNodes(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var numbers []int
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), videoNodePrefix)
		if n, err := strconv.Atoi(digits); ok && err == nil && strconv.Itoa(n) == digits {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	nodes := make([]string, len(numbers))
	for i, n := range numbers {
		nodes[i] = filepath.Join(dir, videoNodePrefix+strconv.Itoa(n))
	}
	return nodes
}

// canCapture reads struct v4l2_capability: what this node, not the whole
// device, can do, where the driver tells them apart.
func canCapture(c [capabilityBytes]byte) (card string, ok bool) {
	caps := binary.NativeEndian.Uint32(c[capAllOffset:])
	if caps&capDeviceCaps != 0 {
		caps = binary.NativeEndian.Uint32(c[capThisNodeOffset:])
	}
	name := c[capCardOffset : capCardOffset+capCardBytes]
	if i := bytes.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	ok = caps&(capVideoCapture|capVideoMplane) != 0 && caps&capStreaming != 0 && caps&capMediaController == 0
	return strings.ToValidUTF8(string(name), "?"), ok
}

func queryCap(path string) (c [capabilityBytes]byte, err error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, unix.EACCES) {
			return c, fmt.Errorf("%w: is this user in the group \"video\"?", err)
		}
		return c, err
	}
	defer func() { _ = unix.Close(fd) }()
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), vidiocQueryCap, uintptr(unsafe.Pointer(&c[0])))
		switch errno {
		case 0:
			return c, nil
		case unix.EINTR:
		default:
			return c, errno
		}
	}
}
