// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// socketAttacks are what clients do on the local socket that they must not.
// Each meets a daemon of its own, so that a log line is about it.
var socketAttacks = []struct {
	name   string
	attack func(t *testing.T, d *daemon)
	logged string // camd says this
}{
	{"garbage", one("\xff\x00\x01garbage", negotiate.ReasonProtocol), "request refused"},
	{"truncated", one(`{"type":"hello","hello":{"stre`, negotiate.ReasonProtocol), "request refused"},
	{"wrong shape", one(`{"type":"hello","hello":["a",1]}`, negotiate.ReasonProtocol), "request refused"},
	{"no type", one(`{"hello":{}}`, negotiate.ReasonProtocol), "request refused"},
	{"two members", one(`{"type":"list","list":{},"bye":{"reason":"x"}}`, negotiate.ReasonProtocol), "request refused"},
	{"depth", one(nested(), negotiate.ReasonProtocol), "request refused"},
	{"huge", one(`{"type":"list"`+strings.Repeat(" ", negotiate.MaxRequest)+"}", negotiate.ReasonProtocol), "more than 8192 bytes"},
	{"empty", one("", negotiate.ReasonProtocol), "request refused"},
	{"numbers beyond bounds", one(strings.Replace(hello(""), `"stream"`, `"credit":99999999,"stream"`, 1), negotiate.ReasonProtocol), "credit 99999999"},
	{"another major version", one(strings.Replace(hello(""), `"major":1`, `"major":99`, 1), negotiate.ReasonProtocol), "99"},
	{"probe first", one(`{"type":"probe","probe":{"ok":false,"reason":"x"}}`, negotiate.ReasonProtocol), "probe cannot begin"},
	{"kick first", one(`{"type":"kick"}`, negotiate.ReasonProtocol), "kick cannot begin"},
	{"message of the daemon", one(`{"type":"start","start":{"reader":1,"credit":1}}`, negotiate.ReasonProtocol), "start cannot begin"},
	{"hello for a probe", after(hello(""), hello(""), negotiate.ReasonProtocol), "hello while a probe was due"},
	{"wrong proof", after(hello(""), `{"type":"probe","probe":{"ok":true,"proof":"`+strings.Repeat("0", 64)+`"}}`, negotiate.ReasonProbeMismatch), "probe_mismatch"},
	{"no probe", func(t *testing.T, d *daemon) {
		r := dialRaw(t, d.dir)
		r.send(hello(""))
		r.refused(negotiate.ReasonProbeTimeout)
	}, "probe_timeout"},
	{"gone in the hand-shake", func(t *testing.T, d *daemon) {
		for range 20 {
			r := dialRaw(t, d.dir)
			r.send(hello(negotiate.WakePipe))
			r.close()
		}
	}, ""},
	{"unknown type is passed over", func(t *testing.T, d *daemon) {
		r := dialRaw(t, d.dir)
		r.send(`{"type":"tomorrow","tomorrow":{"x":[1,2,3]}}`)
		r.send(`{"type":"list"}`)
		if m, ok := r.receive(); !ok || m.Type != negotiate.TypeStreams {
			t.Errorf("list after an unknown type: %v, answer %q", ok, m.Type)
		}
		r.refused(negotiate.ReasonProtocol)
	}, "no request within"},
	{"says nothing", func(t *testing.T, d *daemon) { dialRaw(t, d.dir).refused(negotiate.ReasonProtocol) }, "no request within"},
	{"hundreds of descriptors", func(t *testing.T, d *daemon) {
		r := dialRaw(t, d.dir)
		r.send(`{"type":"list"}`, manyFiles(t, 250)...)
		r.refused(negotiate.ReasonProtocol)
	}, "descriptors, none are allowed"},
	{"descriptors with a kick", func(t *testing.T, d *daemon) {
		c := attach(t, d.dir, negotiate.WakeFutex)
		c.send(`{"type":"kick"}`, manyFiles(t, 250)...)
		c.refused("")
	}, "descriptors, none are allowed"},
	{"garbage in a subscription", func(t *testing.T, d *daemon) {
		c := attach(t, d.dir, negotiate.WakeFutex)
		c.send("garbage")
		c.refused("")
	}, "subscriber cut off"},
	{"hello in a subscription", func(t *testing.T, d *daemon) {
		c := attach(t, d.dir, negotiate.WakeFutex)
		c.send(hello(""))
		c.refused("")
	}, "hello in a running subscription"},
	{"acknowledges what was not said", func(t *testing.T, d *daemon) {
		c := attach(t, d.dir, negotiate.WakeFutex)
		for i := range 1000 {
			c.send(fmt.Sprintf(`{"type":"ack","ack":{"epoch":%d}}`, i))
		}
		c.takes(10)
	}, ""},
	{"flood of kicks", func(t *testing.T, d *daemon) {
		c := attach(t, d.dir, negotiate.WakeFutex)
		for range 20_000 {
			c.send(`{"type":"kick"}`)
		}
		c.takes(10)
	}, ""},
	{"asks and never reads", func(t *testing.T, d *daemon) {
		r := dialRaw(t, d.dir)
		eventually(t, "cut off", func() (bool, string) {
			for range 1000 {
				if !r.push(`{"type":"status"}`) || !r.push(`{"type":"list"}`) {
					return true, ""
				}
			}
			return false, "still open"
		})
	}, "more than 50 requests within"},
	{"three hundred at once", func(t *testing.T, d *daemon) {
		var all []*raw
		for range 300 {
			all = append(all, dialRaw(t, d.dir))
		}
		reasons := map[negotiate.Reason]int{}
		for _, r := range all {
			for {
				m, ok := r.receive()
				if !ok {
					break
				}
				if m.Reject != nil {
					reasons[m.Reject.Reason]++
				}
			}
		}
		if reasons[negotiate.ReasonLimit] == 0 || reasons[negotiate.ReasonLimit]+reasons[negotiate.ReasonProtocol] != len(all) {
			t.Errorf("refusals of %d silent connections: %v", len(all), reasons)
		}
	}, "connections of user"},
	{"offers that nobody answers", func(t *testing.T, d *daemon) {
		for range 20 {
			r := dialRaw(t, d.dir)
			r.send(hello(""))
			if m, ok := r.receive(); !ok || m.Offer == nil {
				t.Errorf("hello was answered by %+v, %v", m, ok)
			}
		}
		attach(t, d.dir, negotiate.WakeFutex) // they keep nobody out
	}, "probe_timeout"},
	{"more subscriptions than there is room", func(t *testing.T, d *daemon) {
		for range 7 { // beside one that is in
			attach(t, d.dir, negotiate.WakeFutex)
		}
		for range 5 {
			r := dialRaw(t, d.dir)
			r.send(hello(""))
			r.refused(negotiate.ReasonRingFull)
		}
	}, "ring_full"},
}

// one sends a packet and wants the connection refused.
func one(packet string, want negotiate.Reason) func(*testing.T, *daemon) {
	return func(t *testing.T, d *daemon) {
		r := dialRaw(t, d.dir)
		r.send(packet)
		r.refused(want)
	}
}

// after sends a packet, waits for an offer and sends another.
func after(first, then string, want negotiate.Reason) func(*testing.T, *daemon) {
	return func(t *testing.T, d *daemon) {
		r := dialRaw(t, d.dir)
		r.send(first)
		if m, ok := r.receive(); !ok || m.Offer == nil {
			t.Fatalf("no offer: %+v, %v", m, ok)
		}
		r.send(then)
		r.refused(want)
	}
}

func manyFiles(t *testing.T, n int) []int {
	t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = null.Close() })
	fds := make([]int, n)
	for i := range fds {
		fds[i] = int(null.Fd())
	}
	return fds
}

// TestHostileSocket has a good reader beside each attack.
func TestHostileSocket(t *testing.T) {
	t.Parallel()
	for _, c := range socketAttacks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			besideGoodReader(t, "test=pattern,160x120@60", func(t *testing.T, d *daemon) {
				c.attack(t, d)
				if c.logged != "" {
					d.awaitErr(c.logged)
				}
			})
		})
	}
}

// besideGoodReader runs something that must not harm a reader, and checks that
// it left nothing in camd.
func besideGoodReader(t *testing.T, camera string, attack func(t *testing.T, d *daemon)) {
	t.Helper()
	d := startDaemon(t, camera)
	good := d.reader()
	d.subscriber(good.process, 5)
	base := settled(t, d.pid())

	// What the attack leaves open ends with it.
	t.Run("attack", func(t *testing.T) { attack(t, &daemon{process: d.process.of(t), dir: d.dir}) })

	d.subscribed(1)
	good.await(len(good.frames()) + 10)
	b, ok := d.stream().subscriber(good.pid())
	if !ok || b.Skipped != 0 || b.Evicted != "" {
		t.Errorf("the good reader: listed %v, skipped %d, evicted %q", ok, b.Skipped, b.Evicted)
	}
	b.balanced(t)
	back(t, "camd", d.pid(), base)
	if _, _, reconnects := good.end(); reconnects != 0 {
		t.Errorf("the good reader connected %d times again", reconnects)
	}
}
