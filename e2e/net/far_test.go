// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package net

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// packets is how many wait on a long way at most; more are lost.
const packets = 1000

// far is a link of two hosts over which what a sends comes delay later, and what
// b sends at once: that of tc's netem, which many kernels are built without.
func (l *lab) far(dev, net string, a, b *host, delay time.Duration) {
	l.t.Helper()
	one, other := l.tap(dev, a), l.tap(dev, b)
	a.address(dev, net+".1")
	b.address(dev, net+".2")
	var ways sync.WaitGroup
	ways.Go(func() { carry(one, other, delay) })
	ways.Go(func() { carry(other, one, 0) })
	l.t.Cleanup(func() {
		_, _ = one.Close(), other.Close()
		ways.Wait()
	})
}

// tap is the other end of an interface of a host: what is written to it comes
// in there.
func (l *lab) tap(dev string, h *host) *os.File {
	l.t.Helper()
	path := "/dev/net/tun"
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		// A container may have the right to it without the file.
		path = filepath.Join(l.t.TempDir(), "tun")
		_ = unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(10, 200)))
	}
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		if os.Getenv("CI") == "true" {
			l.t.Fatalf("%s: %v", path, err)
		}
		l.t.Skipf("%s: %v", path, err)
	}
	name := fmt.Sprintf("camd%d", os.Getpid()%1_000_000+next()*1_000_000)
	req, err := unix.NewIfreq(name)
	if err != nil {
		l.t.Fatal(err)
	}
	req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
		l.t.Fatalf("%s: %v", path, err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		l.t.Fatal(err)
	}
	l.must("ip link set %s netns %s name %s", name, h.ns, dev)
	return os.NewFile(uintptr(fd), path)
}

// carry moves packets until one end is closed.
func carry(from, to *os.File, delay time.Duration) {
	type packet struct {
		data []byte
		due  time.Time
	}
	under := make(chan packet, packets)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for p := range under {
			if wait := time.Until(p.due); wait > 0 {
				<-time.After(wait)
			}
			_, _ = to.Write(p.data) // an interface that is down takes nothing
		}
	}()
	for {
		b := make([]byte, 2048)
		n, err := from.Read(b)
		if err != nil {
			break
		}
		select {
		case under <- packet{b[:n], time.Now().Add(delay)}:
		default:
		}
	}
	close(under)
	<-done
}
