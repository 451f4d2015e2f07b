// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/backend/cuda"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Status is the document of camd status --format json. Fields are only added.
type Status struct {
	Version string                      `json:"version"`
	Session string                      `json:"session"`
	PID     int                         `json:"pid"`
	Host    string                      `json:"host"`
	Dir     string                      `json:"runtime_dir"`
	Started time.Time                   `json:"started"`
	Cameras []CameraStatus              `json:"cameras"`
	Streams []StreamStatus              `json:"streams"`
	Refused map[negotiate.Reason]uint64 `json:"refused,omitempty"`
	Zenoh   *ZenohStatus                `json:"zenoh,omitempty"` // absent: not used
	CUDA    *cuda.Status                `json:"cuda,omitempty"`  // absent: not used
	// Truncated is set when something was left out to fit into a message:
	// subscribers first, those on the network before others, then the end of long problems, then whole streams and
	// cameras.
	Truncated bool `json:"truncated,omitempty"`
}

// CameraStatus is a camera in the status document.
type CameraStatus struct {
	Name      string        `json:"name"`
	Source    string        `json:"source"`
	State     capture.State `json:"state"`
	Since     time.Time     `json:"since"`
	Problem   string        `json:"problem,omitempty"`
	Restarts  uint64        `json:"restarts"`
	Abandoned int           `json:"abandoned,omitempty"`
	Frames    uint64        `json:"frames"`
}

// Status is a snapshot of everything.
func (d *Daemon) Status() Status {
	st := Status{
		Version: d.Version, Session: d.session.String(), PID: os.Getpid(), Host: d.host,
		Dir: d.server.listener.Dir(), Started: d.started,
		Cameras: []CameraStatus{}, Streams: []StreamStatus{},
	}
	for _, c := range d.all() {
		h := c.health()
		cs := CameraStatus{
			Name: c.spec.Name, Source: c.source.Describe(), State: h.State, Since: h.Since,
			Restarts: h.Restarts, Abandoned: h.Abandoned, Frames: h.Frames,
		}
		if h.State != capture.StateRunning {
			cs.Problem = h.Problem
		}
		st.Cameras = append(st.Cameras, cs)
		for _, s := range c.all() {
			st.Streams = append(st.Streams, s.status())
		}
	}
	if d.network != nil {
		st.Zenoh = d.network.status()
		d.announcer.status(st.Zenoh)
	}
	st.CUDA = d.gpuStatus()
	d.server.mu.Lock()
	st.Refused = maps.Clone(d.server.refused)
	d.server.mu.Unlock()
	return st
}

// list is the answer to a client's list.
func (d *Daemon) list() negotiate.StreamList {
	l := negotiate.StreamList{
		Protocol: negotiate.Current(), Session: d.session.String(), PID: os.Getpid(),
		Version: d.Version, Streams: []negotiate.StreamInfo{},
	}
	for _, c := range d.all() {
		streams := c.all()
		if len(streams) == 0 {
			l.Streams = append(l.Streams, c.placeholder())
		}
		for _, s := range streams {
			i := s.info()
			i.Subscribed = s.subscribed()
			l.Streams = append(l.Streams, i)
		}
	}
	return l
}

// lookup finds a stream by its full name and the context that ends with its
// camera, or says why there is none.
func (d *Daemon) lookup(name string) (*stream, context.Context, *negotiate.Refusal) {
	var known []string
	for _, c := range d.all() {
		if s := c.find(name); s != nil {
			return s, c.life, nil
		}
		streams := c.all()
		for _, s := range streams {
			known = append(known, s.name)
		}
		if len(streams) > 0 {
			continue
		}
		p := c.placeholder()
		known = append(known, p.Name)
		if strings.HasPrefix(name, c.spec.Name+"/") {
			return nil, nil, &negotiate.Refusal{
				Reason: negotiate.ReasonNotReady,
				Text:   fmt.Sprintf("camera %s is %s: %s", c.spec.Name, p.State, orNothing(p.Problem)),
			}
		}
	}
	return nil, nil, &negotiate.Refusal{
		Reason: negotiate.ReasonUnknownStream, Known: known,
		Text: fmt.Sprintf("no stream %q here", name),
	}
}

func orNothing(s string) string {
	if s == "" {
		return "it has not delivered anything yet"
	}
	return s
}

// maxProblem is how much of a problem's text is left where room is short.
const maxProblem = 200

// fit encodes a status document in at most room bytes, and leaves out what has
// to go for that. st itself stays as it is.
func fit(st Status, room int) (json.RawMessage, error) {
	b, err := json.Marshal(st)
	if err != nil || len(b) <= room {
		return b, err
	}
	st.Truncated = true
	st.Streams, st.Cameras = slices.Clone(st.Streams), slices.Clone(st.Cameras)
	// Those on the network first: anybody there can say that there are many.
	for _, most := range []int{16, 1} {
		for i := range st.Streams {
			st.Streams[i].Subscribers = fewVisitors(st.Streams[i].Subscribers, most)
		}
		if b, err = json.Marshal(st); err != nil || len(b) <= room {
			return b, err
		}
	}
	for i := range st.Streams {
		st.Streams[i].Subscribers, st.Streams[i].Topics = nil, nil
	}
	if b, err = json.Marshal(st); err != nil || len(b) <= room {
		return b, err
	}
	for i := range st.Streams {
		st.Streams[i].Problem = shorten(st.Streams[i].Problem)
	}
	for i := range st.Cameras {
		st.Cameras[i].Problem = shorten(st.Cameras[i].Problem)
	}
	for {
		if b, err = json.Marshal(st); err != nil || len(b) <= room {
			return b, err
		}
		switch n, m := len(st.Streams), len(st.Cameras); {
		case n == 0 && m == 0:
			return nil, fmt.Errorf("status takes %d bytes, a message has room for %d", len(b), room)
		case n >= m:
			st.Streams = st.Streams[:n-n/8-1]
		default:
			st.Cameras = st.Cameras[:m-m/8-1]
		}
	}
}

// fewVisitors leaves only the first of the subscribers on the network.
func fewVisitors(list []backend.Subscriber, most int) []backend.Subscriber {
	n := 0
	return slices.DeleteFunc(slices.Clone(list), func(s backend.Subscriber) bool {
		if s.Backend == negotiate.BackendCPU {
			n++
		}
		return s.Backend == negotiate.BackendCPU && n > most
	})
}

func shorten(s string) string {
	if len(s) <= maxProblem {
		return s
	}
	return strings.ToValidUTF8(s[:maxProblem], "") + "…"
}
