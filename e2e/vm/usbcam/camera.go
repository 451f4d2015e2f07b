// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package usbcam

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Size is a picture size in pixels.
type Size struct{ Width, Height int }

// Fault is what goes wrong with one frame.
type Fault int

// The faults.
const (
	Good     Fault = iota
	Cut            // only the first half is sent
	ErrorBit       // the camera marks it as damaged
	Skip           // never sent, as far as the host can tell it never was
	Silence        // nothing more comes until the stream is set up again
)

// Camera is what is emulated. Set the fields, then plug it in.
type Camera struct {
	Manufacturer string
	Product      string
	Serial       string
	Sizes        []Size        // at 30 and 15 frames per second
	Chroma       byte          // of every YUYV frame: which camera it is from
	Interval     time.Duration // 0 = that which the host chose
	// Fault says what happens to frame n, 1 first; nil = nothing.
	Fault func(n int) Fault
	// JPEG makes frame n for the format MJPG; nil = the camera has only YUYV.
	JPEG func(n int, s Size) []byte
}

// Plugged is a camera that the kernel sees.
type Plugged struct {
	port int
	fd   int
	link *link
	done chan struct{}
	once sync.Once
}

const (
	attachFile = "/sys/devices/platform/vhci_hcd.0/attach"
	statusFile = "/sys/devices/platform/vhci_hcd.0/status"
)

// Plug connects the camera to a port of the virtual bus, 0 to 7. The kernel
// finds it within about half a second.
func (c Camera) Plug(port int) (*Plugged, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	const device, highSpeed = 0x10001, 3
	// The kernel takes its end from this process.
	err = os.WriteFile(attachFile, fmt.Appendf(nil, "%d %d %d %d", port, pair[0], device, highSpeed), 0o200)
	_ = unix.Close(pair[0])
	if err != nil {
		_ = unix.Close(pair[1])
		return nil, fmt.Errorf("attaching to the virtual bus: %w", err)
	}
	p := &Plugged{port: port, fd: pair[1], done: make(chan struct{})}
	p.link = newLink(os.NewFile(uintptr(pair[1]), "usbip"))
	d := newDevice(c, p.link)
	var both sync.WaitGroup
	both.Go(d.serve)
	both.Go(d.stream)
	go func() {
		both.Wait()
		_ = p.link.file.Close()
		close(p.done)
	}()
	return p, nil
}

// Unplug takes the camera away, and waits until its goroutines have ended and
// the kernel has freed its port, at most ten seconds. It may be called again.
func (p *Plugged) Unplug() {
	p.once.Do(func() {
		// Closing alone has no effect while another goroutine reads.
		_ = unix.Shutdown(p.fd, unix.SHUT_RDWR)
		<-p.done
		for range 1000 {
			if free(p.port) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// free reports whether a port has no camera. Its line in the status file is
// "hs 0003 004 000 00000000 000000 0-0": hub, port, state, and 4 is free.
func free(port int) bool {
	b, err := os.ReadFile(statusFile)
	if err != nil {
		return true
	}
	for _, line := range strings.Split(string(b), "\n") {
		f := strings.Fields(line)
		if len(f) > 2 && f[0] == "hs" {
			if n, err := strconv.Atoi(f[1]); err == nil && n == port {
				return f[2] == "004"
			}
		}
	}
	return true
}

// YUYV is the picture of frame n: every luma sample is the number, so that a
// mixture of two frames shows.
func YUYV(n int, s Size, chroma byte) []byte {
	b := make([]byte, s.Width*s.Height*2)
	for i := 0; i < len(b); i += 2 {
		b[i], b[i+1] = byte(n), chroma
	}
	return b
}
