// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
)

// Info is what a device says about itself.
type Info struct {
	Driver      string `json:"driver"`
	Card        string `json:"card"`
	Bus         string `json:"bus"`
	Capture     bool   `json:"capture"`      // delivers pictures by streaming
	MultiPlanar bool   `json:"multi_planar"` // by the multi-planar interface
	Metadata    bool   `json:"metadata"`     // delivers metadata of another node's pictures
}

// Device is an open device node.
type Device struct {
	Path string
	Info Info

	k kernel
	// bufType is the buffer type of all requests, single- or multi-planar.
	bufType uint32
}

// Open opens a node and asks what it is. That it can capture is not demanded,
// see Info.Capture.
func Open(path string) (*Device, error) { return open(path, openNode) }

func open(path string, opener func(string) (kernel, error)) (*Device, error) {
	k, err := opener(path)
	if err != nil {
		return nil, explain("open "+path, path, err)
	}
	d := &Device{Path: path, k: k}
	var c capability
	if err := k.ioctl(reqQueryCap, unsafe.Pointer(&c)); err != nil {
		_ = k.close()
		if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EINVAL) {
			return nil, fmt.Errorf("%w: %s is not a video device (VIDIOC_QUERYCAP: %w)", capture.ErrConfig, path, err)
		}
		return nil, explain("VIDIOC_QUERYCAP", path, err)
	}
	caps := c.Capabilities
	if caps&capDeviceCaps != 0 {
		caps = c.DeviceCaps
	}
	d.Info = Info{Driver: text(c.Driver[:]), Card: text(c.Card[:]), Bus: text(c.Bus[:])}
	d.Info.Capture = caps&(capCapture|capCaptureMplane) != 0 && caps&capStreaming != 0
	d.Info.MultiPlanar = caps&capCapture == 0 && caps&capCaptureMplane != 0
	d.Info.Metadata = caps&capMetaCapture != 0
	d.bufType = bufTypeCapture
	if d.Info.MultiPlanar {
		d.bufType = bufTypeCaptureMplane
	}
	return d, nil
}

// Close closes the node. The kernel ends whatever was streaming.
func (d *Device) Close() error { return d.k.close() }

// call performs a request and explains its failure.
func (d *Device) call(name string, req uint, arg unsafe.Pointer) error {
	if err := d.k.ioctl(req, arg); err != nil {
		return explain(name, d.Path, err)
	}
	return nil
}

// orGone is ENODEV if err is EINVAL and the device has gone. The buffers of one
// that is being unplugged are freed under requests that were under way, which are
// then invalid (vb2_video_unregister_device).
func (d *Device) orGone(err error) error {
	if errors.Is(err, unix.EINVAL) {
		var c capability
		if now := d.k.ioctl(reqQueryCap, unsafe.Pointer(&c)); errors.Is(now, unix.ENODEV) {
			return now
		}
	}
	return err
}

// text is a C string of a driver, made presentable.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(string(b), "?"))
	return strings.TrimSpace(s)
}

// absent reports that a driver does not know a request: it is the answer of
// drivers to what is optional.
func absent(err error) bool {
	return errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENODATA)
}
