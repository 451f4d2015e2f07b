// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/capture"
)

// host is a tree like that of a host with cameras.
type host struct {
	t    *testing.T
	root string
}

func newHost(t *testing.T) host {
	h := host{t, t.TempDir()}
	h.mkdir(devDir)
	h.mkdir(classDir)
	return h
}

func (h host) mkdir(dir string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Join(h.root, dir), 0o700); err != nil {
		h.t.Fatal(err)
	}
}

func (h host) write(path, text string) {
	h.t.Helper()
	h.mkdir(filepath.Dir(path))
	if err := os.WriteFile(filepath.Join(h.root, path), []byte(text+"\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// usb plugs a camera into a port of the bus: picture node and metadata node.
func (h host) usb(number int, port, serial string) {
	h.t.Helper()
	dev := "sys/devices/pci0000:00/0000:00:14.0/usb1/1-" + port
	h.write(dev+"/idVendor", "046d")
	h.write(dev+"/idProduct", "0825")
	h.write(dev+"/manufacturer", "Logi & Co")
	h.write(dev+"/product", "Web/Cam")
	if serial != "" {
		h.write(dev+"/serial", serial)
	}
	h.node(number, 0, dev+"/1-"+port+":1.0", "Web Cam")
	h.node(number+1, 1, dev+"/1-"+port+":1.0", "Web Cam")
}

func (h host) node(number, index int, parent, name string) {
	h.t.Helper()
	node := fmt.Sprintf("video%d", number)
	dir := parent + "/video4linux/" + node
	h.write(devDir+"/"+node, "")
	h.write(dir+"/name", name)
	h.write(dir+"/index", fmt.Sprint(index))
	for from, to := range map[string]string{dir + "/device": filepath.Join(h.root, parent), classDir + "/" + node: filepath.Join(h.root, dir)} {
		if err := os.Symlink(to, filepath.Join(h.root, from)); err != nil {
			h.t.Fatal(err)
		}
	}
}

// unplug removes every node from number on and what a camera at port left.
func (h host) unplug(port string, numbers ...int) {
	h.t.Helper()
	for _, n := range numbers {
		node := fmt.Sprintf("video%d", n)
		for _, path := range []string{devDir, classDir} {
			if err := os.Remove(filepath.Join(h.root, path, node)); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	if err := os.RemoveAll(filepath.Join(h.root, "sys/devices/pci0000:00/0000:00:14.0/usb1/1-"+port)); err != nil {
		h.t.Fatal(err)
	}
}

func (h host) path(node string) string { return filepath.Join(h.root, devDir, node) }

func TestFind(t *testing.T) {
	h := newHost(t)
	h.usb(0, "2", "AB12")
	h.usb(2, "3.1", "")
	h.node(4, 0, "sys/devices/platform/vivid.0", "vivid-000-vid-cap")
	h.write(devDir+"/video9", "") // sysfs does not know it, as in a container
	if err := os.Symlink(h.path("video2"), filepath.Join(h.root, "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, target, want string }{
		{"path", h.path("video0"), "video0"},
		{"link", filepath.Join(h.root, "link"), "video2"},
		{"platform device", h.path("video4"), "video4"},
		{"without sysfs", h.path("video9"), "video9"},
		{"by-id without udev", "/dev/v4l/by-id/usb-Logi___Co_Web_Cam_AB12-video-index0", "video0"},
		{"by-id of the second node", "/dev/v4l/by-id/usb-Logi___Co_Web_Cam_AB12-video-index1", "video1"},
		{"by-id without a serial number", "/dev/v4l/by-id/usb-Logi___Co_Web_Cam-video-index0", "video2"},
		{"by-path without udev", "/dev/v4l/by-path/pci-0000:00:14.0-usb-0:3.1:1.0-video-index0", "video2"},
		{"by-path of newer udev", "/dev/v4l/by-path/pci-0000:00:14.0-usbv2-0:2:1.0-video-index0", "video0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := find(h.root, c.target, nil)
			if err != nil || n.Path != h.path(c.want) {
				t.Errorf("%+v, %v; want %s", n, err, c.want)
			}
		})
	}
	for _, target := range []string{h.path("video7"), "/dev/v4l/by-id/usb-other-video-index0", "/dev/v4l/by-path/pci-0000:00:15.0-usb-0:2:1.0-video-index0"} {
		n, err := find(h.root, target, nil)
		if !errors.Is(err, capture.ErrDeviceNotFound) || !strings.Contains(err.Error(), "serial AB12") {
			t.Errorf("%s: %+v, %v; want %v that says what there is", target, n, err, capture.ErrDeviceNotFound)
		}
	}
	if _, err := find(newHost(t).root, "/dev/video0", nil); err == nil || !strings.Contains(err.Error(), "there is no video device") {
		t.Errorf("%v", err)
	}
}

// The camera that was opened first is looked for again, wherever it is.
func TestFindAgain(t *testing.T) {
	h := newHost(t)
	h.usb(0, "2", "AB12")
	target := h.path("video0")
	seen, err := find(h.root, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	again := func(want string) {
		t.Helper()
		n, err := find(h.root, target, &seen)
		if want == "" {
			if !errors.Is(err, capture.ErrDeviceNotFound) {
				t.Errorf("%+v, %v; want %v", n, err, capture.ErrDeviceNotFound)
			}
			return
		}
		if err != nil || n.Path != h.path(want) {
			t.Errorf("%+v, %v; want %s", n, err, want)
		}
	}
	again("video0")
	h.unplug("2", 0, 1)
	again("")
	h.usb(0, "3", "OTHER") // another camera takes the number
	again("")
	h.usb(5, "4", "AB12") // the camera comes back elsewhere
	again("video5")
	h.usb(7, "2", "AB12") // a twin with the same number stands where it was
	again("video7")
}

// Without a serial number the port tells equal cameras apart.
func TestFindAgainWithoutSerial(t *testing.T) {
	h := newHost(t)
	h.usb(0, "2", "")
	seen, err := find(h.root, h.path("video0"), nil)
	if err != nil {
		t.Fatal(err)
	}
	h.unplug("2", 0, 1)
	h.usb(0, "3", "")
	if n, err := find(h.root, h.path("video0"), &seen); !errors.Is(err, capture.ErrDeviceNotFound) {
		t.Errorf("%+v, %v: took an equal camera at another port", n, err)
	}
	h.usb(4, "2", "")
	if n, err := find(h.root, h.path("video0"), &seen); err != nil || n.Path != h.path("video4") {
		t.Errorf("%+v, %v; want video4", n, err)
	}
}

func TestHolders(t *testing.T) {
	dir := t.TempDir()
	device := filepath.Join(dir, "video0")
	other := filepath.Join(dir, "other")
	proc := filepath.Join(dir, "proc")
	for _, f := range []string{device, other} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	process := func(pid int, comm string, open ...string) {
		fds := filepath.Join(proc, fmt.Sprint(pid), "fd")
		if err := os.MkdirAll(fds, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, fmt.Sprint(pid), "comm"), []byte(comm+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for i, path := range open {
			if err := os.Symlink(path, filepath.Join(fds, fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	process(101, "cheese", other, device)
	process(102, "bash", other, filepath.Join(dir, "gone"))
	process(os.Getpid(), "camd", device)
	if err := os.MkdirAll(filepath.Join(proc, "self", "fd"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(holders(proc, device), "; "); got != "process 101 (cheese)" {
		t.Errorf("%q, want process 101 (cheese)", got)
	}
	if got := holders(proc, filepath.Join(dir, "absent")); got != nil {
		t.Errorf("%v have what is not there", got)
	}
}

// A camera found by its target keeps its identity over a restart of the run.
func TestSourceRemembers(t *testing.T) {
	h := newHost(t)
	h.usb(0, "2", "AB12")
	f := newFake(t)
	s := newSource(t, f, "")
	s.root, s.target = h.root, h.path("video0")
	var opened []string
	s.open = func(path string) (kernel, error) {
		opened = append(opened, filepath.Base(path))
		return f.open(path)
	}
	r := start(t, f, s, 10)
	r.frame(1)
	_ = r.end()
	h.unplug("2", 0, 1)
	if err := start(t, f, s, 10).wait(); !errors.Is(err, capture.ErrDeviceNotFound) || !strings.Contains(err.Error(), "serial AB12") {
		t.Fatalf("%v", err)
	}
	h.usb(3, "5", "AB12")
	r = start(t, f, s, 10)
	r.frame(2)
	_ = r.end()
	if got := strings.Join(opened, " "); got != "video0 video3" {
		t.Errorf("opened %s", got)
	}
}
