// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"syscall"
	"testing"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// Readers of both kinds of wake-up, quick and slow, beside each other.
func TestFramesAreWhole(t *testing.T) {
	dir := newDir(t)
	startDaemon(t, nil, dir, "--camera", "test=pattern,640x480@120", "--camera", "nv=pattern,322x240@120,encoding=nv12")
	var readers []*process
	for _, args := range [][]string{
		{"--count", "200"},
		{"--count", "200", "--wake", "fd"},
		{"--count", "60", "--hold-ms", "20"},
		{"--count", "60", "--hold-ms", "20", "--wake", "fd", "--credit", "1"},
	} {
		readers = append(readers, startReader(t, nil, dir, append(args, "--verify")...))
	}
	nv := start(t, nil, programs(t).reader, "nv/color", "--runtime-dir", dir, "--verify", "--accept", "shm", "--count", "100", "--timeout-ms", "20000")
	for i, p := range append(readers, nv) {
		if code := p.wait(); code != 0 {
			t.Errorf("reader %d: exit code %d", i, code)
		}
		if s := p.summary(); s.frames < 60 || s.torn+s.stale+s.reconnects > 0 {
			t.Errorf("reader %d: %+v", i, s)
		}
		if !strings.Contains(p.out.String(), "path shm -\n") {
			t.Errorf("reader %d: no path", i)
		}
	}
}

// The daemon says why there is no better path, and the client passes it on.
func TestPaths(t *testing.T) {
	dir := newDir(t)
	startDaemon(t, nil, dir, "--camera", "test=pattern,64x48@60")
	p := startReader(t, nil, dir, "--count", "1", "--accept", "cuda,shm", "--cuda-library", "/nowhere/libcuda.so.1")
	if code := p.wait(); code != 0 || !strings.Contains(p.err.String(), "by shm; not cuda: ") || strings.Contains(p.out.String(), "path shm -") {
		t.Errorf("exit code %d, said %s%s", code, p.out.String(), p.err.String())
	}
	p = startReader(t, nil, dir, "--count", "1", "--require", "cuda", "--cuda-library", "/nowhere/libcuda.so.1")
	if code := p.wait(); code != exitNoPath {
		t.Errorf("exit code %d for a path that is not there", code)
	}
	p = start(t, nil, programs(t).reader, "test/depth", "--runtime-dir", dir)
	if code := p.wait(); code != exitNotFound || !strings.Contains(p.err.String(), "unknown_stream") {
		t.Errorf("exit code %d for a stream that is not there", code)
	}
	p = start(t, nil, programs(t).reader, "test/color", "--runtime-dir", newDir(t))
	if code := p.wait(); code != exitNotFound || !strings.Contains(p.err.String(), "socket_unreachable") {
		t.Errorf("exit code %d without a daemon", code)
	}
	self := start(t, nil, programs(t).selftest, "misuse", dir, "test/color")
	if code := self.wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, self.out.String())
	}
}

// checkOrder holds frames against the rules of continuity.
func checkOrder(t *testing.T, frames []taken) {
	t.Helper()
	for i := 1; i < len(frames); i++ {
		f, before := frames[i], frames[i-1]
		switch {
		case f.session != before.session:
		case f.sequence <= before.sequence || f.epoch < before.epoch:
			t.Errorf("frame %+v after %+v", f, before)
		case (f.epoch == before.epoch) != (f.size == before.size):
			t.Errorf("size %s in epoch %d after %s in epoch %d", f.size, f.epoch, before.size, before.epoch)
		case f.epoch != before.epoch && !f.broken:
			t.Errorf("the first frame of epoch %d is not marked", f.epoch)
		}
	}
}

func TestFormatChanges(t *testing.T) {
	dir := newDir(t)
	startDaemon(t, nil, dir, "--camera", "test=pattern,320x240@120,fault.resize=250ms")
	for _, wake := range []string{"futex", "fd"} {
		p := startReader(t, nil, dir, "--print", "--verify", "--count", "150", "--wake", wake)
		if code := p.wait(); code != 0 {
			t.Errorf("%s: exit code %d", wake, code)
		}
		frames := p.frames()
		checkOrder(t, frames)
		if len(frames) != 150 || frames[149].epoch < frames[0].epoch+3 {
			t.Errorf("%s: %d frames of few epochs", wake, len(frames))
		}
		if s := p.summary(); s.torn+s.stale+s.reconnects > 0 {
			t.Errorf("%s: %+v", wake, s)
		}
	}
}

// The program finds out that its daemon was killed, whatever it waits with, and
// can have the next one's frames.
func TestDaemonKilled(t *testing.T) {
	dir := newDir(t)
	camera := []string{"--camera", "test=pattern,320x240@100"}
	d := startDaemon(t, nil, dir, camera...)
	var lasting, short []*process
	for _, wake := range []string{"futex", "fd"} {
		lasting = append(lasting, startReader(t, nil, dir, "--print", "--verify", "--reconnect", "--wake", wake))
		short = append(short, startReader(t, nil, dir, "--print", "--wake", wake))
	}
	for _, p := range append(lasting, short...) {
		await(t, "frames", func() bool { return len(p.frames()) > 5 })
	}
	d.signal(syscall.SIGKILL)
	<-d.done
	for _, p := range short {
		if code := p.wait(); code != exitNotFound {
			t.Errorf("exit code %d when the daemon was killed", code)
		}
	}
	d = startDaemon(t, nil, dir, camera...)
	for _, p := range lasting {
		await(t, "frames of the second daemon", func() bool {
			f := p.frames()
			return f[len(f)-1].session != f[0].session
		})
		p.signal(syscall.SIGINT)
		if code := p.wait(); code != 0 {
			t.Errorf("exit code %d after a signal", code)
		}
		checkOrder(t, p.frames())
		if s := p.summary(); s.reconnects != 1 || s.torn+s.stale > 0 {
			t.Errorf("%+v", s)
		}
	}
	p := startReader(t, nil, dir, "--print", "--timeout-ms", "0")
	await(t, "frames", func() bool { return len(p.frames()) > 0 })
	d.signal(syscall.SIGTERM)
	if code := p.wait(); code != exitNotFound || !strings.Contains(p.err.String(), "shutdown") {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
}

// Signals that follow the first are the same order to end: timeout(1) sends two
// at once. The example still says what it saw.
func TestSignalledTwice(t *testing.T) {
	dir := newDir(t)
	startDaemon(t, nil, dir, "--camera", "test=pattern,96x64@100")
	for range 20 {
		p := startReader(t, nil, dir, "--print")
		await(t, "frames", func() bool { return len(p.frames()) > 0 })
		p.signal(syscall.SIGTERM)
		await(t, "the end", func() bool {
			_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended meanwhile
			return p.ended()
		})
		if code, s := p.wait(), p.summary(); code != 0 || s.frames == 0 {
			t.Fatalf("exit code %d, %+v", code, s)
		}
	}
}

// An evicted program learns it, sees that its frame was overwritten, and the
// daemon hears of its end only when it holds nothing any more.
func TestEviction(t *testing.T) {
	heads := make(chan uint32, 1)
	evict := make(chan struct{})
	told := make(chan struct{})
	f := newFake(t, func(c *call) error {
		if err := c.subscribed(func(m *ringMemory) { m.grant(0, 5) }); err != nil {
			return err
		}
		m := c.memory
		<-evict
		m.put32(m.page.Data, "pageEvicted", 1)
		m.put64(m.record(0), "recGeneration", 9)
		err := c.send(&negotiate.Message{Type: negotiate.TypeEvict, Evict: &negotiate.Refusal{Reason: negotiate.ReasonTooSlow, Text: "in a test"}})
		close(told)
		c.hungUp()
		heads <- m.get32(m.page.Data, "pageHead")
		return err
	})
	p := start(t, nil, programs(t).selftest, "evicted", f.dir, "test/color")
	await(t, "the frame is taken", func() bool { return p.out.String() == "taken\n" || p.ended() })
	close(evict)
	<-told
	if _, err := p.stdin.Write([]byte("go on\n")); err != nil {
		t.Error(err)
	}
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d: %s%s", code, p.out.String(), p.err.String())
	}
	if head := <-heads; head != 1 {
		t.Errorf("the socket ended after %d frames were given back, want 1", head)
	}
}
