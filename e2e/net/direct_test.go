// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package net

import (
	"syscall"
	"testing"
	"time"
)

// flat are hosts behind one switch, without a router and without configuration.
func (l *lab) flat(names ...string) (hosts []*host) {
	l.t.Helper()
	for _, name := range names {
		hosts = append(hosts, l.host(name))
	}
	l.link("eth0", "10.77.0", hosts...)
	return hosts
}

// Three hosts find each other by multicast: from each the camera is seen by its
// name, on its own host in shared memory and elsewhere over the network. camd
// comes last, and goes and comes back.
func TestNothingConfigured(t *testing.T) {
	t.Parallel()
	h := newLab(t).flat("robot", "laptop", "desk")
	robot, laptop, desk := h[0], h[1], h[2]
	early := laptop.watch("--wait", "front/color")
	d := robot.camd([]string{"front=pattern,320x240@30,encoding=rgb8"})
	early.await(10)
	robot.looks("front/color", "shm")
	laptop.looks("front/color", "cpu")
	desk.looks("front/color", "cpu")
	desk.looks(topic, "cpu")
	frames := early.hold()
	t.Logf("laptop: %d frames, %d missed, age %s", len(frames), missed(frames), ages(frames))
	if st := d.status(); st.Zenoh.As != "peer" {
		t.Errorf("camd is %+v where there is no router", st.Zenoh)
	}
}

// The hop that camd writes carries less than the camera gives: who is behind it
// gets the newest frames, each whole, and nobody else notices.
func TestWeakLink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, rate, camera string
		delay              time.Duration
		transfer           time.Duration // of a frame
		frames             int
	}{
		{"100 Mbit", "100mbit", "front=pattern,1280x720@15,encoding=bgr8", 0, 221 * time.Millisecond, 8},
		{"2 Mbit and 50 ms", "2mbit", "front=pattern,320x240@15,encoding=rgb8", 50 * time.Millisecond, 922 * time.Millisecond, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			robot, laptop := l.host("robot"), l.host("laptop")
			if c.delay == 0 {
				l.link("eth0", "10.77.0", robot, laptop)
			} else {
				l.far("eth0", "10.77.0", robot, laptop, c.delay)
			}
			robot.slow("eth0", c.rate)
			d := robot.camd([]string{c.camera})
			local := robot.watch("front/color")
			far := laptop.watch("front/color")
			local.await(1)
			n := c.frames
			if soak {
				n = int(40 * time.Second / c.transfer)
			}
			far.await(n)
			d.keepsUp()
			near, there := local.hold(), far.hold()
			t.Logf("robot: %d frames, %d missed, age %s", len(near), missed(near), ages(near))
			t.Logf("laptop: %d frames, %d missed, age %s (transfer %v)", len(there), missed(there), ages(there), c.transfer)
			if missed(there) == 0 {
				t.Errorf("a link of %s carried every frame", c.rate)
			}
			if !soak {
				return // the rest is about time, which a busy machine does not keep
			}
			for _, f := range there[2:] {
				if age := time.Duration(f.age) * time.Microsecond; age > 3*c.transfer+c.delay {
					t.Errorf("frame %d was %v old, a transfer takes %v", f.sequence, age, c.transfer)
				}
			}
		})
	}
}

// Four subscribers by a weak link and four that are stopped, each in the middle
// of some frame: another one gets what the camera gives meanwhile, and those by
// the weak link whole frames, the newest ones.
func TestSlowAndStopped(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	robot, weak, desk := l.host("robot"), l.host("weak"), l.host("desk")
	l.link("eth0", "10.77.0", robot, weak)
	l.link("eth1", "10.78.0", robot, desk)
	robot.slow("eth0", "10mbit")
	d := robot.camd([]string{"front=pattern,320x240@30,encoding=bgr8"})
	local := robot.watch("front/color")
	local.await(1)
	var slow, stopped []watcher
	for range 4 {
		slow = append(slow, weak.watch("front/color"))
		w := desk.watch("front/color")
		w.await(2)
		w.signal(syscall.SIGSTOP)
		stopped = append(stopped, w)
	}
	fast := desk.watch("front/color")
	fast.await(90)
	for _, w := range slow {
		w.await(2)
	}
	d.keepsUp()
	got := fast.hold()
	t.Logf("desk: %d frames, %d missed, age %s", len(got), missed(got), ages(got))
	if missed(got) > uint64(len(got))/2 {
		t.Errorf("%d frames were taken and %d missed beside subscribers that take none", len(got), missed(got))
	}
	for _, w := range slow {
		frames := w.hold()
		t.Logf("weak: %d frames, %d missed, age %s", len(frames), missed(frames), ages(frames))
	}
	for _, w := range stopped {
		w.signal(syscall.SIGCONT)
	}
	local.hold()
}

// The robot's cable is pulled until both sides know, and put back: everything
// goes on by itself.
func TestCutLink(t *testing.T) {
	t.Parallel()
	h := newLab(t).flat("robot", "laptop")
	robot, laptop := h[0], h[1]
	lease := "transport/link/tx/lease=2000"
	if soak {
		lease = "transport/link/tx/lease=10000"
	}
	d := robot.camd([]string{"front=pattern,320x240@30,encoding=rgb8"}, "--set", "zenoh.override="+lease)
	local := robot.watch("front/color")
	far := laptop.watchWith([]string{"ZENOH_CONFIG_OVERRIDE=" + lease}, "front/color")
	far.await(10)
	local.await(1)
	robot.cut("eth0")
	d.says("zenoh connection lost")
	if soak {
		<-time.After(30 * time.Second)
	}
	n, m := len(far.frames()), len(local.frames())
	local.await(m + 10) // beside the camera nobody notices
	robot.mend("eth0")
	far.await(n + 10)
	d.keepsUp()
	near, there := local.hold(), far.hold()
	t.Logf("robot: %d frames, %d missed; laptop: %d frames, %d missed", len(near), missed(near), len(there), missed(there))
	if missed(there) == 0 {
		t.Error("nothing was missed")
	}
}
