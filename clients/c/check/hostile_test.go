// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Exit codes of the example.
const (
	exitBad      = 1
	exitNotFound = 4
	exitNoPath   = 5
	exitNothing  = 6
)

// ends runs the example against a fake daemon and wants an end with a code and
// words.
func (f *fake) ends(code int, words string, args ...string) *process {
	f.t.Helper()
	p := startReader(f.t, nil, f.dir, append([]string{"--count", "1", "--verify"}, args...)...)
	if got := p.wait(); got != code || !strings.Contains(p.err.String(), words) {
		f.t.Errorf("exit code %d, want %d; said %q, want %q", got, code, p.err.String(), words)
	}
	return p
}

// memory is a memory file of the test's own making.
func memoryFile(t testing.TB, bytes int64) int {
	m, err := linux.NewMemory("camd-check", bytes, false)
	if err != nil {
		t.Error(err)
		return -1
	}
	fd := m.FD
	t.Cleanup(func() { _ = m.Close() })
	return fd
}

func unsealed(t testing.TB, bytes int64) int {
	fd, err := unix.MemfdCreate("camd-check", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err == nil {
		err = unix.Ftruncate(fd, bytes)
	}
	if err != nil {
		t.Error(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

func pipeEnd(t testing.TB) int {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		t.Error(err)
		return -1
	}
	read, write := ends[0], ends[1]
	t.Cleanup(func() { _, _ = unix.Close(read), unix.Close(write) })
	return read
}

func TestOffersThatCannotBe(t *testing.T) {
	type edit = func(t testing.TB, o *negotiate.Offer, fds []int)
	for name, c := range map[string]struct {
		edit  edit
		words string
	}{
		"another epoch":       {func(_ testing.TB, o *negotiate.Offer, _ []int) { o.Layout.Epoch = 77 }, "does not say what was announced"},
		"another session":     {func(_ testing.TB, o *negotiate.Offer, _ []int) { o.Session = strings.Repeat("ab", 16) }, "another session"},
		"files the other way": {func(_ testing.TB, _ *negotiate.Offer, f []int) { f[0], f[1] = f[1], f[0] }, "magic number"},
		"fewer slots than said": {func(_ testing.TB, o *negotiate.Offer, _ []int) {
			o.Layout.Slots--
			o.Layout.PixelBytes -= o.Layout.StrideBytes
		}, "does not say what was announced"},
		"pixels too short":  {func(t testing.TB, o *negotiate.Offer, f []int) { f[1] = memoryFile(t, o.Layout.PixelBytes-4096) }, "memory file has"},
		"header too short":  {func(t testing.TB, _ *negotiate.Offer, f []int) { f[0] = memoryFile(t, 64) }, "memory file has"},
		"pixels not sealed": {func(t testing.TB, o *negotiate.Offer, f []int) { f[1] = unsealed(t, o.Layout.PixelBytes) }, "not sealed"},
		"header not sealed": {func(t testing.TB, o *negotiate.Offer, f []int) { f[0] = unsealed(t, o.Layout.HeaderBytes) }, "not sealed"},
		"a pipe for pixels": {func(t testing.TB, _ *negotiate.Offer, f []int) { f[1] = pipeEnd(t) }, "memory file has"},
		"device memory not asked for": {func(_ testing.TB, o *negotiate.Offer, _ []int) {
			o.Backend = negotiate.BackendCUDA
			o.Device = &negotiate.Device{UUID: "GPU-1", Handle: negotiate.HandleVMM, Bytes: 1 << 21, ProbeOffset: 1 << 20}
		}, "not asked for"},
		"shm with a device": {func(_ testing.TB, o *negotiate.Offer, _ []int) {
			o.Device = &negotiate.Device{UUID: "GPU-1", Handle: negotiate.HandleVMM, Bytes: 1 << 21, ProbeOffset: 1 << 20}
		}, "shm with a device"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, func(call *call) error {
				return call.offer(func(o *negotiate.Offer, fds []int) { c.edit(t, o, fds) })
			})
			f.ends(exitNoPath, c.words)
		})
	}
}

// A daemon that says nothing ends in time, and what one says in front of hanging
// up is passed on.
func TestDaemonsThatSayLittle(t *testing.T) {
	newFake(t, func(c *call) error {
		c.hungUp()
		return nil
	}).ends(exitNothing, "does not answer", "--timeout-ms", "100")
	if out := output(t, "", programs(t).selftest, "last-words"); out != "" {
		t.Error(out)
	}
}

func TestDaemonsThatBreakTheProtocol(t *testing.T) {
	offer := golden(t)["offer"]
	say := func(packet string) func(*call) error {
		return func(c *call) error {
			if _, err := c.receive(negotiate.TypeHello); err != nil {
				return err
			}
			if err := c.raw([]byte(packet)); err != nil {
				return err
			}
			c.hungUp()
			return nil
		}
	}
	files := func(take func(c *call) []int) func(*call) error {
		return func(c *call) error {
			if err := c.offer(nil); err != nil {
				return err
			}
			if err := c.start(take(c)...); err != nil {
				return err
			}
			c.hungUp()
			return nil
		}
	}
	for name, c := range map[string]struct {
		script func(*call) error
		words  string
		args   []string
	}{
		"no JSON":                {say("\x00\xff{"), "not a JSON object", nil},
		"a type without member":  {say(`{"type":"offer"}`), "without its member", nil},
		"a packet too large":     {say(`{"type":"later","x":"` + strings.Repeat("x", negotiate.MaxPacket) + `"}`), "too large", nil},
		"start without an offer": {say(`{"type":"start","start":{"credit":2}}`), "start without an offer", nil},
		"credit of a million":    {say(`{"type":"start","start":{"credit":1000000}}`), "credit 1000000", nil},
		"an answer to itself":    {say(`{"type":"ack","ack":{"epoch":1}}`), "out of order", nil},
		"evicts before start":    {say(`{"type":"evict","evict":{"reason":"misbehaved","text":"x"}}`), "out of order", nil},
		"another version":        {say(`{"type":"offer","offer":{"protocol":{"major":9}}}`), "version 9", nil},
		"an offer without files": {func(c *call) error {
			if _, err := c.receive(negotiate.TypeHello); err != nil {
				return err
			}
			if err := c.raw(offer); err != nil {
				return err
			}
			_, err := c.receive(negotiate.TypeProbe)
			return first(err, c.raw([]byte(`{"type":"bye"}`)))
		}, "out of order", nil},
		"page is missing":        {files(func(*call) []int { return nil }), "0 descriptors of 2", nil},
		"page is short":          {files(func(c *call) []int { return []int{memoryFile(t, 64), c.memory.wake.FD} }), "memory file has", nil},
		"page is not sealed":     {files(func(c *call) []int { return []int{unsealed(t, 1<<20), c.memory.wake.FD} }), "not sealed", nil},
		"page cannot be written": {files(func(c *call) []int { return []int{c.memory.header.FD, c.memory.wake.FD} }), "reader's page", nil},
		"wake-ups are short":     {files(func(c *call) []int { return []int{c.memory.page.FD, memoryFile(t, 32)} }), "memory file has", nil},
		"pipe is missing":        {files(func(c *call) []int { return []int{c.memory.page.FD, c.memory.wake.FD} }), "2 descriptors of 3", []string{"--wake", "fd"}},
		"pipe is a file": {
			files(func(c *call) []int { return []int{c.memory.page.FD, c.memory.wake.FD, c.memory.pixels.FD} }),
			"pipe is none",
			[]string{"--wake", "fd"},
		},
		"five descriptors": {func(c *call) error {
			if _, err := c.receive(negotiate.TypeHello); err != nil {
				return err
			}
			fd := memoryFile(t, 64)
			return first(c.raw([]byte(`{"type":"start","start":{"credit":2}}`), fd, fd, fd, fd, fd), nil)
		}, "more descriptors", nil},
	} {
		t.Run(name, func(t *testing.T) {
			newFake(t, c.script).ends(exitBad, c.words, c.args...)
		})
	}
}

func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// What lies in shared memory is held against what can be.
func TestMemoryThatLies(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(m *ringMemory)
		code  int
		words string
	}{
		"as it should be":        {func(m *ringMemory) { m.grant(1, 5) }, 0, "by shm"},
		"a slot beyond the ring": {func(m *ringMemory) { m.put64(m.page.Data, "pageMailbox", 5<<8|fakeSlots+1) }, exitBad, "slot 4 of 4"},
		"a word without a slot":  {func(m *ringMemory) { m.put64(m.page.Data, "pageMailbox", 5<<8) }, exitBad, "slot -1 of 4"},
		"a word of ones":         {func(m *ringMemory) { m.put64(m.page.Data, "pageMailbox", ^uint64(0)) }, exitBad, "slot 254 of 4"},
		"another generation": {func(m *ringMemory) {
			m.grant(1, 5)
			m.put64(m.record(1), "recGeneration", 6)
		}, exitNotFound, "gave this program up"},
		"more bytes than a slot": {func(m *ringMemory) {
			m.grant(3, 5)
			m.put64(m.record(3), "recBytes", 1<<40)
		}, exitBad, "in a slot of 4096"},
		"fewer bytes than a frame": {func(m *ringMemory) {
			m.grant(3, 5)
			m.put64(m.record(3), "recBytes", 64*16-1)
		}, exitBad, "want at least 1024"},
		"a torn frame": {func(m *ringMemory) {
			m.grant(0, 5)
			m.pixels.Data[64*9]++
		}, exitBad, "by shm"},
		"a place of returns far away": {func(m *ringMemory) {
			m.grant(0, 5)
			m.put32(m.page.Data, "pageHead", ^uint32(0))
			m.put32(m.page.Data, "pageKick", ^uint32(0))
		}, 0, "by shm"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, func(call *call) error {
				if err := call.subscribed(c.spoil); err != nil {
					return err
				}
				call.hungUp()
				return nil
			})
			f.ends(c.code, c.words)
		})
	}
}

func TestRunningDaemonsThatBreakTheProtocol(t *testing.T) {
	reconfig := func(edit func(r *negotiate.Reconfig, fds []int) []int) func(c *call) error {
		return func(c *call) error {
			m, err := newMemory(c.t, c.offsets, 2)
			if err != nil {
				return err
			}
			defer m.close()
			r := &negotiate.Reconfig{Stream: m.stream, Layout: m.layout}
			fds := edit(r, []int{m.header.FD, m.pixels.FD, m.page.FD, m.wake.FD})
			if err := c.send(&negotiate.Message{Type: negotiate.TypeReconfig, Reconfig: r}, fds...); err != nil {
				return err
			}
			c.hungUp()
			return nil
		}
	}
	say := func(packet string) func(c *call) error {
		return func(c *call) error {
			err := c.raw([]byte(packet))
			c.hungUp()
			return err
		}
	}
	for name, c := range map[string]struct {
		script func(c *call) error
		code   int
		words  string
	}{
		"a second offer":       {say(string(golden(t)["offer"])), exitBad, "out of order"},
		"an offer of nonsense": {say(`{"type":"offer","offer":{}}`), exitBad, "out of order"},
		"no JSON":              {say(`{"type":"bye"`), exitBad, "not a JSON object"},
		"an empty packet":      {say(""), exitNotFound, "closed the connection"},
		"goodbye":              {say(`{"type":"bye","bye":{"reason":"ended"}}`), exitNotFound, "says goodbye: ended"},
		"gone":                 {func(*call) error { return nil }, exitNotFound, "closed the connection"},
		"evicted with nothing at hand": {
			say(`{"type":"evict","evict":{"reason":"misbehaved","text":"in a test"}}`), exitBad, "in a test (misbehaved)",
		},
		"new epoch without files":  {reconfig(func(_ *negotiate.Reconfig, fds []int) []int { return fds[:2] }), exitBad, "2 descriptors"},
		"new epoch of another one": {reconfig(func(r *negotiate.Reconfig, fds []int) []int { r.Layout.Epoch = 3; return fds }), exitBad, "does not say"},
		"new epoch on a GPU": {reconfig(func(r *negotiate.Reconfig, fds []int) []int {
			r.Device = &negotiate.Device{UUID: "GPU-1", Handle: negotiate.HandleVMM, Bytes: 1 << 21, ProbeOffset: 1 << 20}
			return fds
		}), exitBad, "another path"},
		"new epoch without a page": {reconfig(func(_ *negotiate.Reconfig, fds []int) []int { fds[2] = fds[0]; return fds }), exitBad, "reader's page"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, func(call *call) error {
				if err := call.subscribed(nil); err != nil {
					return err
				}
				return c.script(call)
			})
			f.ends(c.code, c.words)
		})
	}
}
