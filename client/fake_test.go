// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// TestMain keeps tests that say nothing about Zenoh off the network.
func TestMain(m *testing.M) {
	if err := os.Setenv(config.EnvOverride, `mode="client";connect/endpoints=["tcp/127.0.0.1:1"]`); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// fake is a daemon made of a bare socket: it can say anything.
type fake struct {
	t       testing.TB
	dir     string
	session frame.Session
	calls   atomic.Int64 // connections so far
	stop    func()       // as a daemon that ends
	script  func(*call) error

	mu         sync.Mutex
	generation atomic.Uint64
	epoch      uint64
	sequence   uint64
	stamp      func(*frame.Meta) // of the frames to come; nil: no times
	ring       *ring.Ring
	sockets    []*net.UnixConn
}

// newFake answers each connection with script, on its own goroutine. What
// script returns is not looked at: mostly that the client hung up.
func newFake(t testing.TB, script func(*call) error) *fake {
	t.Helper()
	return newFakeIn(t, shortDir(t), script)
}

// shortDir is a directory; t.TempDir is too long for a socket.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "camd-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func newFakeIn(t testing.TB, dir string, script func(*call) error) *fake {
	t.Helper()
	f := &fake{t: t, dir: dir, session: frame.Session{3, 1, 4}, script: script}
	f.newRing(nil)
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: filepath.Join(dir, negotiate.SocketName), Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Add(1)
	go func() {
		defer all.Done()
		for {
			socket, err := l.AcceptUnix()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.sockets = append(f.sockets, socket)
			f.mu.Unlock()
			all.Add(1)
			go func() {
				defer all.Done()
				defer socket.Close()
				_ = f.script(&call{f: f, socket: socket, number: f.calls.Add(1)})
			}()
		}
	}()
	f.stop = sync.OnceFunc(func() {
		_ = l.Close() // takes the socket away
		f.hangUp()
		all.Wait()
		f.current().Retire()
	})
	t.Cleanup(f.stop)
	return f
}

// hangUp closes every connection.
func (f *fake) hangUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sockets {
		_ = s.Close()
	}
}

// newRing replaces the ring without telling anyone.
func (f *fake) newRing(change func(*ring.Config)) *ring.Ring {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.epoch++
	g, err := frame.NewGeometry(frame.Mono8, 64, 16+int(f.epoch%8))
	if err != nil {
		f.t.Fatal(err)
	}
	cfg := ring.Config{
		Name: "test/color", Session: f.session, Epoch: f.epoch, Geometry: g,
		Slots: ring.SlotsFor(1, 4, 2), MaxReaders: 4, Generation: &f.generation,
	}
	if change != nil {
		change(&cfg)
	}
	r, err := ring.New(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	if f.ring != nil {
		f.ring.Retire()
	}
	f.ring = r
	return r
}

func (f *fake) current() *ring.Ring {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ring
}

// publish sends one frame through the newest ring; its bytes are its number.
func (f *fake) publish() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	slot, err := f.ring.Acquire()
	if err != nil {
		f.t.Error(err)
		return 0
	}
	f.sequence++
	data := f.ring.Data(slot)
	for i := range data {
		data[i] = byte(f.sequence)
	}
	m := frame.Meta{Sequence: f.sequence, Bytes: len(data)}
	if f.stamp != nil {
		f.stamp(&m)
	}
	f.ring.Publish(slot, &m)
	return f.sequence
}

// bounded ends long after a test that passes.
func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func quiet() Option { return WithLogger(slog.New(slog.DiscardHandler)) }

// eager connects again without a pause.
func eager(o *options) { o.pause = func(ctx context.Context, _ time.Time) error { return ctx.Err() } }

func (f *fake) subscribe(opts ...Option) (*Subscription, error) {
	f.t.Helper()
	opts = append([]Option{quiet(), WithRuntimeDir(f.dir)}, opts...)
	return Subscribe(bounded(f.t), "test/color", opts...)
}

func (f *fake) subscribed(opts ...Option) *Subscription {
	f.t.Helper()
	s, err := f.subscribe(opts...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = s.Close() })
	return s
}

// want takes the next frame, which must be whole and the one of that number.
func want(t testing.TB, s *Subscription, sequence uint64) Frame {
	t.Helper()
	f, err := s.Next(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	if f.Meta().Sequence != sequence {
		t.Fatalf("got frame %d, want %d", f.Meta().Sequence, sequence)
	}
	whole(t, f, sequence)
	return f
}

func whole(t testing.TB, f Frame, sequence uint64) {
	t.Helper()
	data := f.Data()
	if len(data) != f.Geometry().Size() || len(data) == 0 {
		t.Fatalf("frame of %d bytes", len(data))
	}
	for i, b := range data {
		if b != byte(sequence) {
			t.Fatalf("byte %d of frame %d is %d", i, sequence, b)
		}
	}
}

// resources are what a subscription must not leave behind.
type resources struct{ files, mappings int }

func used(t testing.TB) resources {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return resources{files: len(entries), mappings: strings.Count(string(maps), "memfd:")}
}

// memory is a memory file of the test's own making; the test closes it.
func memory(t testing.TB, bytes int64) int {
	t.Helper()
	m, err := linux.NewMemory("camd-test", bytes, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	if err := unix.Munmap(m.Data); err != nil { // not to be counted
		t.Fatal(err)
	}
	m.Data = nil
	return m.FD
}

// unsealed is a memory file that its maker can shrink at any time.
func unsealed(t testing.TB, bytes int64) int {
	t.Helper()
	fd, err := unix.MemfdCreate("camd-test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Ftruncate(fd, bytes); err != nil {
		t.Fatal(err)
	}
	return fd
}

// lines is a log that a test reads.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) contains(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), s)
}
