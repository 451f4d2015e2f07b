// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

func refuseWith(r negotiate.Reason) *negotiate.Message {
	return &negotiate.Message{Type: negotiate.TypeReject, Reject: &negotiate.Refusal{Reason: r, Text: "in a test"}}
}

// badOffer is a daemon whose offer must not be believed: the client says so, and
// the daemon refuses with what it heard.
func badOffer(edit func(c *call, o *negotiate.Offer, files []int)) func(*call) error {
	return func(c *call) error {
		err := c.offer(func(o *negotiate.Offer, files []int) { edit(c, o, files) })
		if err != nil {
			return err
		}
		p, err := c.probed()
		if err != nil {
			return err
		}
		if p.OK {
			return c.start() // the test fails: it is subscribed
		}
		m := refuseWith(negotiate.ReasonNotOffered)
		m.Reject.Text = string(p.Reason) + ": " + p.Detail
		return c.send(m)
	}
}

func TestOffersThatCannotBe(t *testing.T) {
	cases := map[string]struct {
		edit func(c *call, o *negotiate.Offer, files []int)
		text string // in the refusal, which has the client's words
	}{
		"no files":            {func(_ *call, o *negotiate.Offer, _ []int) { o.Challenge = "" }, "0 descriptors, want 2"},
		"layout version":      {func(_ *call, o *negotiate.Offer, _ []int) { o.Layout.Version = 2 }, "layout version 2"},
		"no layout":           {func(_ *call, o *negotiate.Offer, _ []int) { o.Layout = negotiate.Layout{} }, "layout version 0"},
		"another epoch":       {func(_ *call, o *negotiate.Offer, _ []int) { o.Layout.Epoch = 77 }, "does not say what was announced"},
		"another session":     {func(_ *call, o *negotiate.Offer, _ []int) { o.Session = strings.Repeat("ab", 16) }, "another session"},
		"another backend":     {func(_ *call, o *negotiate.Offer, _ []int) { o.Backend = "rdma" }, "reads shm only"},
		"another major":       {func(_ *call, o *negotiate.Offer, _ []int) { o.Protocol.Major = 9 }, "speaks 9."},
		"frames too large":    {func(_ *call, o *negotiate.Offer, _ []int) { o.Stream.Geometry.Height = 4096; fixGeometry(o) }, "in slots of"},
		"files the other way": {func(_ *call, _ *negotiate.Offer, f []int) { f[0], f[1] = f[1], f[0] }, "mismatch"},
		"fewer slots than said": {func(_ *call, o *negotiate.Offer, _ []int) {
			o.Layout.Slots--
			o.Layout.PixelBytes -= o.Layout.StrideBytes
		}, "does not say what was announced"},
		"pixels too short":  {func(c *call, o *negotiate.Offer, f []int) { f[1] = memory(c.f.t, o.Layout.PixelBytes-4096) }, "memory file has"},
		"header too short":  {func(c *call, _ *negotiate.Offer, f []int) { f[0] = memory(c.f.t, 64) }, "memory file has"},
		"pixels not sealed": {func(c *call, o *negotiate.Offer, f []int) { f[1] = unsealed(c.f.t, o.Layout.PixelBytes) }, "not sealed"},
		"header not sealed": {func(c *call, o *negotiate.Offer, f []int) { f[0] = unsealed(c.f.t, o.Layout.HeaderBytes) }, "not sealed"},
		"a pipe for pixels": {func(c *call, _ *negotiate.Offer, f []int) { f[1] = pipeEnd(c.f.t) }, "memory file has"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, badOffer(c.edit))
			before := used(t)
			s, err := f.subscribe()
			if err == nil {
				_ = s.Close()
				t.Fatal("subscribed to what was offered")
			}
			var r *RefusedError
			if !errors.As(err, &r) || !strings.Contains(r.Refusal.Text, c.text) {
				t.Errorf("got %q, want the words %q", err, c.text)
			}
			nothingLeft(t, f, before)
		})
	}
}

func fixGeometry(o *negotiate.Offer) { o.Stream.Geometry.Step = o.Stream.Geometry.Width }

func pipeEnd(t testing.TB) int {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return int(r.Fd())
}

// nothingLeft compares what the client's side of this process uses.
func nothingLeft(t *testing.T, f *fake, before resources) {
	t.Helper()
	f.hangUp()
	for f.current().Usage().Readers > 0 {
		runtime.Gosched()
	}
	if now := used(t); now.mappings != before.mappings {
		t.Errorf("%d memory files are mapped, before it were %d", now.mappings, before.mappings)
	}
}

func TestDaemonsThatBreakTheProtocol(t *testing.T) {
	after := func(files func(c *call) ([]int, error)) func(*call) error {
		return func(c *call) error {
			if err := c.offer(nil); err != nil {
				return err
			}
			if _, err := c.probed(); err != nil {
				return err
			}
			fds, err := files(c)
			if err != nil {
				return err
			}
			return c.send(&negotiate.Message{Type: negotiate.TypeStart, Start: &negotiate.Start{Credit: 2}}, fds...)
		}
	}
	say := func(packet string) func(*call) error {
		return func(c *call) error {
			if _, err := c.receive(); err != nil {
				return err
			}
			return c.raw([]byte(packet))
		}
	}
	pageOf := func(c *call) int { return memory(c.f.t, layoutOf(c.ring.Layout()).PageBytes) }
	pipeWake := WithWake(negotiate.WakePipe)
	cases := map[string]struct {
		script func(*call) error
		opt    Option
	}{
		"no JSON":                {say("\x00\xff{"), nil},
		"JSON of no message":     {say(`[1,2,3]`), nil},
		"a type without member":  {say(`{"type":"offer"}`), nil},
		"two members":            {say(`{"type":"start","start":{"credit":2},"ack":{"epoch":1}}`), nil},
		"a packet too large":     {say(`{"type":"later","x":"` + strings.Repeat("x", negotiate.MaxPacket) + `"}`), nil},
		"start without an offer": {say(`{"type":"start","start":{"credit":2}}`), nil},
		"credit of a million":    {say(`{"type":"start","start":{"credit":1000000}}`), nil},
		"reconfig before start":  {say(`{"type":"ack","ack":{"epoch":1}}`), nil},
		"evicts before start":    {say(`{"type":"evict","evict":{"reason":"misbehaved","text":"x"}}`), nil},
		"says goodbye":           {say(`{"type":"bye","bye":{"reason":"shutdown"}}`), nil},
		"page is missing":        {after(func(*call) ([]int, error) { return nil, nil }), nil},
		"page is short":          {after(func(c *call) ([]int, error) { return []int{memory(c.f.t, 64)}, nil }), nil},
		"page is not sealed":     {after(func(c *call) ([]int, error) { return []int{unsealed(c.f.t, 1<<20)}, nil }), nil},
		"page cannot be written": {after(func(c *call) ([]int, error) { h, p, err := c.ring.Files(); closeFiles(p); return []int{h}, err }), nil},
		"pipe is missing":        {after(func(c *call) ([]int, error) { return []int{pageOf(c)}, nil }), pipeWake},
		"pipe is a file":         {after(func(c *call) ([]int, error) { return []int{pageOf(c), pageOf(c)}, nil }), pipeWake},
		"pipe is a device": {after(func(c *call) ([]int, error) {
			fd, err := unix.Open("/dev/zero", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			return []int{pageOf(c), fd}, err
		}), pipeWake},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, c.script)
			before := used(t)
			s, err := f.subscribe(c.opt)
			if err == nil {
				_ = s.Close()
				t.Fatal("subscribed")
			}
			if !errors.Is(err, ErrProtocol) {
				t.Errorf("got %v, want %v", err, ErrProtocol)
			}
			if !strings.Contains(err.Error(), f.dir) {
				t.Errorf("error %q does not say which daemon", err)
			}
			nothingLeft(t, f, before)
		})
	}
}

func TestRefusalsInWords(t *testing.T) {
	cases := map[negotiate.Reason]error{
		negotiate.ReasonUnknownStream:    ErrUnknownStream,
		negotiate.ReasonPermissionDenied: ErrPermission,
		negotiate.ReasonRingFull:         ErrNotAvailable,
		negotiate.ReasonQuarantined:      ErrNotAvailable,
		negotiate.ReasonLimit:            ErrNotAvailable,
		negotiate.ReasonProtocol:         ErrProtocol,
		"reason_of_a_later_version":      ErrNotAvailable,
	}
	for reason, kind := range cases {
		t.Run(string(reason), func(t *testing.T) {
			f := newFake(t, func(c *call) error {
				if _, err := c.receive(); err != nil {
					return err
				}
				return c.send(refuseWith(reason))
			})
			_, err := f.subscribe()
			if !errors.Is(err, kind) || !strings.Contains(err.Error(), "in a test") {
				t.Errorf("got %v, want %v and the daemon's words", err, kind)
			}
		})
	}
}

func TestSilentDaemon(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f := newFake(t, func(c *call) error {
		_, err := c.receive()
		cancel() // once the hello is here
		_, _ = c.receive()
		return err
	})
	if _, err := Subscribe(ctx, "test/color", quiet(), WithRuntimeDir(f.dir)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// A daemon that talks all the time about nothing does not keep the client.
func TestDaemonThatOnlyTalks(t *testing.T) {
	f := newFake(t, func(c *call) error {
		for {
			if err := c.raw([]byte(`{"type":"later"}`)); err != nil {
				return err
			}
		}
	})
	short := func(o *options) { o.reply = time.Millisecond }
	if _, err := f.subscribe(short); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want %v", err, os.ErrDeadlineExceeded)
	}
}

func TestListWithoutEnd(t *testing.T) {
	f := newFake(t, func(c *call) error {
		if _, err := c.receive(); err != nil {
			return err
		}
		page := &negotiate.StreamList{Protocol: negotiate.Current(), Session: c.f.session.String(), More: true}
		for range 500 {
			page.Streams = append(page.Streams, negotiate.StreamInfo{Name: "a/b"})
		}
		for {
			if err := c.send(&negotiate.Message{Type: negotiate.TypeStreams, Streams: page}); err != nil {
				return err
			}
		}
	})
	patient := func(o *options) { o.reply = 20 * time.Second }
	if _, err := List(bounded(t), quiet(), patient, WithRuntimeDir(f.dir)); err == nil || !strings.Contains(err.Error(), "4096 streams") {
		t.Errorf("got %v", err)
	}
}

// A daemon that is stopped is told, also where another one answers.
func TestListOfASilentDaemon(t *testing.T) {
	f := newFake(t, func(c *call) error {
		for {
			if _, err := c.receive(); err != nil {
				return err
			}
		}
	})
	events := newTold()
	short := func(o *options) { o.reply = time.Millisecond }
	if _, err := List(bounded(t), quiet(), short, events.option(), WithRuntimeDir(f.dir)); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("got %v", err)
	}
	events.wait(t, EventNoAnswer, "the camd in "+f.dir+" does not answer")
}

// A router that is silent is there; who names it is not told that it is not.
func TestSilentRouter(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(bounded(t), 50*time.Millisecond)
	defer cancel()
	at := "tcp/" + l.Addr().String()
	_, err = Topics(ctx, quiet(), WithZenoh(config.Client(at)))
	if want := "the Zenoh router or peer at " + at + " does not answer"; !errors.Is(err, ErrNoRouter) || !contains(err, want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestWrongSettings(t *testing.T) {
	c := config.New()
	if err := c.LoadEnv(func(name string) string { return map[string]string{config.EnvOverride: "garbage"}[name] }); err != nil {
		t.Fatal(err)
	}
	if _, err := Topics(bounded(t), quiet(), WithZenoh(c)); !errors.Is(err, ErrConfig) || !contains(err, `"garbage"`) {
		t.Errorf("override: %v", err)
	}
	t.Setenv(EnvDomain, "-1")
	if _, err := Topics(bounded(t), quiet()); !errors.Is(err, ErrConfig) || !contains(err, EnvDomain) {
		t.Errorf("domain: %v", err)
	}
}
