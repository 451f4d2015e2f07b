// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Roots of the file system of a host; tests have their own.
const (
	devDir   = "dev"
	classDir = "sys/class/video4linux"
)

// Node is a device node as sysfs describes it, known without opening it.
type Node struct {
	Path  string `json:"path"` // /dev/video0
	Name  string `json:"name"` // of the card, mostly
	Index int    `json:"index"`
	// Parent is the directory of the device that the node belongs to: a USB
	// interface such as "1-2:1.0", or a platform device such as "vivid.0".
	Parent string `json:"parent,omitempty"`
	// PCI is the address of the controller that a USB device hangs on.
	PCI string `json:"pci,omitempty"`

	// The rest is of USB devices.
	Vendor       string `json:"vendor,omitempty"`  // idVendor, four hexadecimal digits
	Product      string `json:"product,omitempty"` // idProduct
	Serial       string `json:"serial,omitempty"`
	Manufacturer string `json:"manufacturer,omitempty"`
	Model        string `json:"model,omitempty"`
}

// Nodes lists the video nodes under root ("/" on a real host) by number. Those
// that sysfs does not know, as in some containers, have a path only.
func Nodes(root string) []Node {
	var numbers []int
	add := func(dir string) {
		entries, err := os.ReadDir(filepath.Join(root, dir))
		if err != nil {
			return
		}
		for _, e := range entries {
			digits, ok := strings.CutPrefix(e.Name(), "video")
			n, err := strconv.Atoi(digits)
			if ok && err == nil && strconv.Itoa(n) == digits && !slices.Contains(numbers, n) {
				numbers = append(numbers, n)
			}
		}
	}
	add(devDir)
	add(classDir)
	slices.Sort(numbers)
	out := make([]Node, 0, len(numbers))
	for _, n := range numbers {
		out = append(out, readNode(root, "video"+strconv.Itoa(n)))
	}
	return out
}

func readNode(root, name string) Node {
	n := Node{Path: filepath.Join(root, devDir, name)}
	dir, err := filepath.EvalSymlinks(filepath.Join(root, classDir, name))
	if err != nil {
		return n
	}
	n.Name = attribute(dir, "name")
	n.Index, _ = strconv.Atoi(attribute(dir, "index"))
	parent, err := filepath.EvalSymlinks(filepath.Join(dir, "device"))
	if err != nil {
		return n
	}
	n.Parent = filepath.Base(parent)
	device := filepath.Dir(parent)
	if n.Vendor = attribute(device, "idVendor"); n.Vendor == "" {
		return n
	}
	n.Product = attribute(device, "idProduct")
	n.Serial = attribute(device, "serial")
	n.Manufacturer = attribute(device, "manufacturer")
	n.Model = attribute(device, "product")
	for d := filepath.Dir(device); len(d) > 1; d = filepath.Dir(d) {
		// The host controller stands above its first bus, "usb1".
		if strings.HasPrefix(filepath.Base(d), "usb") {
			if pci := filepath.Base(filepath.Dir(d)); strings.Count(pci, ":") == 2 {
				n.PCI = pci
			}
			break
		}
	}
	return n
}

// attribute is a file of sysfs, "" where there is none.
func attribute(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return text(bytes.TrimSpace(b))
}

// port is where a USB device is plugged in, "2" or "1.4", and which function of
// it the node belongs to, "1.0".
func (n Node) port() (port, function string) {
	port, function, ok := strings.Cut(n.Parent, ":")
	if !ok {
		return "", ""
	}
	_, port, _ = strings.Cut(port, "-")
	return port, function
}

// ByID is the link that udev makes below /dev/v4l/by-id, "" for what is not on
// USB. It is computed: the link itself need not exist.
func (n Node) ByID() string {
	if n.Vendor == "" {
		return ""
	}
	name := orElse(n.Manufacturer, n.Vendor) + "_" + orElse(n.Model, n.Product)
	if n.Serial != "" {
		name += "_" + n.Serial
	}
	return "usb-" + udevName(name) + "-video-index" + strconv.Itoa(n.Index)
}

// byPath is the link below /dev/v4l/by-path, "" where it is not known.
func (n Node) byPath() string {
	port, function := n.port()
	if n.Vendor == "" || n.PCI == "" {
		return ""
	}
	return "pci-" + n.PCI + "-usb-0:" + port + ":" + function + "-video-index" + strconv.Itoa(n.Index)
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// udevName replaces what udev replaces in names: white space, and all that is
// not one of a few characters (systemd, src/basic/utf8 and udev-util).
func udevName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("#+-.:=@_", r), r > 0x7f:
			return r
		}
		return '_'
	}, s)
}

// label is the node for people.
func (n Node) label() string {
	if n.Name == "" {
		return n.Path
	}
	s := n.Path + " (" + n.Name
	if n.Serial != "" {
		s += ", serial " + n.Serial
	}
	return s + ")"
}
