// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/seed-3c7e7623/camd/backend/cpu"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

// Where diagnostics are published, as every ROS 2 node does it, and how often.
const (
	diagnosticsTopic  = "/diagnostics"
	diagnosticsNode   = "camd"
	diagnosticsPeriod = time.Second
)

// diagnostics tells how cameras and streams fare, once a second while somebody
// subscribes.
type diagnostics struct {
	d       *Daemon
	dropped map[string]uint64 // of each stream, as told last
	message []byte
}

// run publishes until ctx is done.
func (g *diagnostics) run(ctx context.Context) {
	wake := make(chan struct{}, 1)
	signal := func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	if err := g.d.network.Access.publish(diagnosticsTopic, ""); err != nil {
		g.d.log.Info("no diagnostics", "err", err)
		return
	}
	link := g.d.network.link
	defer link.Join(signal)()
	var topic *cpu.Topic
	defer func() {
		if topic != nil {
			topic.Close()
		}
	}()
	tick := time.NewTicker(diagnosticsPeriod)
	defer tick.Stop()
	tick.Stop()
	running, problem := false, ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-tick.C:
		}
		if topic == nil {
			if s, _ := link.State(); s == nil {
				continue
			}
			made, err := cpu.NewTopic(link, diagnosticsNode, diagnosticsTopic, msg.TypeDiagnosticArray, graph.ReliableDepth(1), signal)
			if err != nil {
				// The link tells when the topic is free.
				if problem != err.Error() {
					problem = err.Error()
					g.d.log.Warn("no diagnostics for now", "err", err)
				}
				continue
			}
			topic = made
		}
		switch matched := topic.Matched(); {
		case matched && !running:
			tick.Reset(diagnosticsPeriod)
		case !matched && running:
			tick.Stop()
		}
		if running = topic.Matched(); running {
			m := g.report()
			g.message = m.AppendCDR(g.message[:0])
			topic.Put(g.message)
		}
	}
}

// report says how everything is now.
func (g *diagnostics) report() msg.DiagnosticArray {
	out := msg.DiagnosticArray{Header: msg.Header{Stamp: msg.TimeOf(linux.Realtime())}}
	for _, c := range g.d.all() {
		h := c.health()
		out.Status = append(out.Status, cameraDiagnostic(c, h))
		for _, s := range c.all() {
			st := s.status()
			n := uint64(0)
			for _, lost := range st.Dropped {
				n += lost
			}
			before, known := g.dropped[s.name]
			if g.dropped == nil {
				g.dropped = make(map[string]uint64)
			}
			g.dropped[s.name] = n
			if !known {
				before = n
			}
			out.Status = append(out.Status, streamDiagnostic(c, h, &st, n-before))
		}
	}
	return out
}

// level is how bad a state is.
func level(s capture.State) byte {
	switch s {
	case capture.StateRunning:
		return msg.DiagnosticOK
	case capture.StateStarting, capture.StateEnded, capture.StateStopped:
		return msg.DiagnosticWarn
	case capture.StateStalled:
		return msg.DiagnosticStale
	}
	return msg.DiagnosticError
}

func cameraDiagnostic(c *camera, h capture.Health) msg.DiagnosticStatus {
	text := h.State.String()
	if h.State != capture.StateRunning && h.Problem != "" {
		text += ": " + h.Problem
	}
	return msg.DiagnosticStatus{
		Level: level(h.State), Name: "camd: " + c.spec.Name, Message: text, HardwareID: c.source.Describe(),
		Values: []msg.KeyValue{
			{Key: "state", Value: h.State.String()},
			{Key: "reconnects", Value: strconv.FormatUint(h.Restarts, 10)},
			{Key: "frames", Value: strconv.FormatUint(h.Frames, 10)},
			{Key: "host", Value: c.d.host},
		},
	}
}

// streamDiagnostic warns of frames that were lost since the last report.
func streamDiagnostic(c *camera, h capture.Health, st *StreamStatus, lost uint64) msg.DiagnosticStatus {
	out := msg.DiagnosticStatus{
		Level: level(h.State), Name: "camd: " + st.Name, Message: fmt.Sprintf("%.1f Hz", st.RateHz), HardwareID: c.source.Describe(),
		Values: []msg.KeyValue{
			{Key: "rate", Value: strconv.FormatFloat(st.RateHz, 'f', 2, 64)},
			{Key: "format", Value: st.Geometry.String()},
			{Key: "published", Value: strconv.FormatUint(st.Published, 10)},
			{Key: "subscribers", Value: strconv.Itoa(st.Subscribed)},
		},
	}
	if lost > 0 {
		out.Level = max(out.Level, msg.DiagnosticWarn)
		out.Message += fmt.Sprintf(", %s lost", plural(lost, "frame"))
	}
	for _, why := range slices.Sorted(maps.Keys(st.Dropped)) {
		out.Values = append(out.Values, msg.KeyValue{Key: "dropped " + string(why), Value: strconv.FormatUint(st.Dropped[why], 10)})
	}
	for i := range st.Topics {
		t := &st.Topics[i]
		if t.Problem != "" {
			out.Level = max(out.Level, msg.DiagnosticWarn)
			out.Message += "; " + t.Problem
		}
		if t.Replaced > 0 {
			out.Values = append(out.Values, msg.KeyValue{Key: "replaced " + t.Topic, Value: strconv.FormatUint(t.Replaced, 10)})
		}
	}
	return out
}

func plural(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatUint(n, 10) + " " + what + "s"
}
