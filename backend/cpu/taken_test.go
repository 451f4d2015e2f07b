// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"runtime"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// beside is another stream in the session of rg.
func (rg *rig) beside(t *testing.T, change func(*Options)) *rig {
	t.Helper()
	o := rg.o
	change(&o)
	two := &rig{t: t, Backend: New(o, rg.link), session: rg.session, link: rg.link}
	t.Cleanup(func() {
		two.Close()
		if two.ring != nil {
			two.ring.Retire()
		}
	})
	return two
}

// Of two streams with one topic the first has it, until it ends.
func TestTopicIsTaken(t *testing.T) {
	rg := newRig(t, nil)
	g := geometry(t, frame.Mono8, 8, 8, 0)
	rg.open(g)
	rg.topic(testTopic)
	two := rg.beside(t, func(*Options) {})
	two.open(g)
	two.until("the second has a problem", func() bool {
		c := two.Candidate()
		return c.Reason == negotiate.ReasonNotOffered && strings.Contains(c.Detail, ErrTaken.Error())
	})
	rg.Close()
	two.until("the second has the topic", func() bool {
		l := two.Topics()
		return len(l) == 3 && l[0].Problem+l[1].Problem+l[2].Problem == "" && two.Candidate().Reason == ""
	})
}

// A sibling that is taken is a problem of that topic alone, and costs nothing.
func TestSiblingIsTaken(t *testing.T) {
	const topic, info = "/front/color/image_rect", "/front/color/camera_info"
	rg := newRig(t, nil)
	g := geometry(t, frame.RGB8, 8, 8, 0)
	rg.open(g)
	rg.topic(testTopic).match(false)
	rg.until("all is declared", func() bool { return len(rg.Topics()) == 3 })
	two := rg.beside(t, func(o *Options) { o.Topic = topic })
	two.open(g)
	p := two.topic(topic)
	p.silent.Store(true)
	two.until("the second says so", func() bool { return strings.Contains(two.status(info).Problem, ErrTaken.Error()) })
	if c := two.Candidate(); c.Reason != "" || two.status(topic).Problem != "" || two.status(topic+"/compressed").Problem != "" {
		t.Errorf("%+v, %+v", c, two.Topics())
	}
	data := noise(g)
	sent := uint64(0)
	one := func() {
		two.publish(data)
		for sent++; two.Frames() < sent; {
			runtime.Gosched()
		}
	}
	one()
	// One is the Meta of the test's own publish.
	if n := testing.AllocsPerRun(200, one); n > 1 {
		t.Errorf("%v allocations a frame", n)
	}
	rg.Close()
	two.until("the second has it", func() bool { return two.status(info).Problem == "" })
}

// For subscribers of any hash * takes its place in the keys, but not in tokens.
func TestAnyHash(t *testing.T) {
	rg := newRig(t, nil)
	rg.link.AnyHash = true // before anything is declared
	rg.open(geometry(t, frame.Mono8, 8, 8, 0))
	declared := func() string {
		rg.session.mu.Lock()
		defer rg.session.mu.Unlock()
		return strings.Join(rg.session.log, "\n")
	}
	rg.until("all is declared", func() bool { return len(rg.Topics()) == 3 })
	if l := declared(); !strings.Contains(l, "publish 0/front/color/image_raw/sensor_msgs::msg::dds_::Image_/*\n") ||
		strings.Count(l, "/*") != 3 || strings.Count(l, "/RIHS01_") != 3 {
		t.Errorf("declared:\n%s", l)
	}
}
