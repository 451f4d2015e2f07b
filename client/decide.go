// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// paths are the backends to be tried: those that the daemon is asked for, and
// whether cpu is one of them too.
func (o *options) paths(topic bool) (local []negotiate.Backend, cpu bool) {
	if o.require != "" {
		return slices.DeleteFunc([]negotiate.Backend{o.require}, isCPU), isCPU(o.require)
	}
	accept := o.accept
	if len(accept) == 0 {
		accept = []negotiate.Backend{negotiate.BackendSHM, negotiate.BackendCPU}
		if o.device != nil {
			accept = negotiate.Backends()
		}
		if topic {
			accept = []negotiate.Backend{negotiate.BackendCPU}
		}
	}
	cpu = slices.ContainsFunc(accept, isCPU) || slices.Contains(accept, negotiate.BackendCUDA)
	return slices.DeleteFunc(slices.Clone(accept), isCPU), cpu
}

func isCPU(b negotiate.Backend) bool { return b == negotiate.BackendCPU }

// connect finds the best path that can be had.
func (s *Subscription) connect(ctx context.Context) (route, error) {
	if _, _, err := s.opts.rosDomain(); err != nil {
		return nil, err // whichever path it would take
	}
	local, cpu := s.opts.paths(IsTopic(s.stream))
	if IsTopic(s.stream) {
		if !cpu {
			return nil, fmt.Errorf("%w: %s is a ROS 2 topic, which comes by cpu only", ErrNotAvailable, s.stream)
		}
		domain, _, err := s.opts.rosDomain()
		if err != nil {
			return nil, err
		}
		return s.connectTopic(ctx, target{topic: s.stream, domain: domain})
	}
	look := &search{s: s}
	var why error
	if len(local) > 0 {
		if why = look.local(ctx); why == nil {
			cn, err := connect(ctx, &s.opts, local, s.name)
			if err == nil {
				return cn, nil
			}
			if ctx.Err() != nil || errors.Is(err, errNotReady) {
				return nil, err
			}
			why = err
		}
	}
	if !cpu {
		return nil, look.elsewhere(ctx, why)
	}
	return s.connectCPU(ctx, look, why)
}

// connectCPU takes a stream of camd as ROS topic; why is why no better path can
// be had, nil if none is accepted.
func (s *Subscription) connectCPU(ctx context.Context, look *search, why error) (route, error) {
	t, err := look.topic(ctx, why)
	if err != nil {
		return nil, err
	}
	if t.topic == "" && t.info.Geometry.Width == 0 {
		if said(why) {
			return nil, why
		}
		return nil, fmt.Errorf("%w: camera %s is %s", errNotReady, t.info.Camera, t.info.State)
	}
	if t.topic == "" && errors.Is(why, os.ErrDeadlineExceeded) {
		return nil, why // there is a daemon; it may answer later
	}
	if t.topic == "" {
		if t.info.Withheld == negotiate.ReasonPolicy {
			return nil, s.refuse(t, negotiate.ReasonPolicy, "camd keeps it back from the network (zenoh.access.publish)")
		}
		return nil, s.refuse(t, negotiate.ReasonNotOffered, "camd does not publish it over Zenoh")
	}
	way, err := s.connectTopic(ctx, t)
	switch {
	case err == nil:
		return way, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ErrNoRouter):
		return nil, s.refuse(t, negotiate.ReasonRouterUnreachable, err.Error())
	case errors.Is(err, ErrUnknownStream):
		return nil, notYet{fmt.Errorf("camd publishes %s as %s, but %s does not show it", s.stream, t.topic, s.link.reached())}
	}
	return nil, err
}

// said reports whether why is the word of a daemon of this host about the stream.
func said(why error) bool {
	return why != nil && !errors.Is(why, ErrNoDaemon) && !errors.Is(why, ErrUnknownStream)
}

// notYet is what can come about by itself: a subscription waits for it.
type notYet struct{ error }

func (notYet) Is(target error) bool { return target == errNotReady }

// refuse is the error for a stream that not even cpu gives.
func (s *Subscription) refuse(t target, reason negotiate.Reason, text string) error {
	cpu := negotiate.Rejected{Backend: negotiate.BackendCPU, Reason: reason, Detail: text}
	// That camd publishes nothing is its settings; what keeps this program from
	// a better path is the news.
	if reason == negotiate.ReasonNotOffered || reason == negotiate.ReasonPolicy {
		for _, r := range t.rejected {
			if r.Reason != negotiate.ReasonNotAccepted {
				reason = r.Reason
			}
		}
	}
	rejected := append(slices.Clone(t.rejected), cpu)
	var details []string
	for _, r := range rejected {
		if r.Detail != "" && r.Reason != negotiate.ReasonNotAccepted {
			details = append(details, r.Detail)
		}
	}
	return refused(s.stream, t.dir, &negotiate.Refusal{
		Reason: reason, Text: fmt.Sprintf("%s: %s (%s)", s.stream, negotiate.Summary(rejected), strings.Join(details, "; ")), Rejected: rejected,
	})
}

// topicName is the topic that camd makes of a stream where nothing else is
// configured.
func topicName(stream string) string {
	if base, ok := strings.CutSuffix(stream, "/jpeg"); ok {
		return "/" + base + "/image_raw/compressed"
	}
	return "/" + stream + "/image_raw"
}

// rejected lists the paths that are better than cpu, and why they are not
// taken; at is where the camera is, as far as that is known.
func (s *Subscription) rejected(why error, at place) []negotiate.Rejected {
	var r *RefusedError
	if errors.As(why, &r) {
		if better := negotiate.Better(r.Refusal.Rejected, negotiate.BackendCPU); len(better) > 0 {
			return better
		}
	}
	local, _ := s.opts.paths(false)
	var out []negotiate.Rejected
	for _, b := range negotiate.Backends() {
		if isCPU(b) {
			continue
		}
		x := negotiate.Rejected{Backend: b, Reason: negotiate.ReasonNotAccepted}
		switch {
		case !slices.Contains(local, b):
		case at.boot != "" && !at.same(here()):
			x.Reason, x.Detail = negotiate.ReasonDifferentHost, "the camera is on "+at.String()
		case errors.Is(why, ErrPermission):
			x.Reason = negotiate.ReasonPermissionDenied
		case errors.Is(why, ErrNoDaemon), errors.Is(why, ErrUnknownStream):
			x.Reason = negotiate.ReasonSocketUnreachable
		case r != nil:
			x.Reason, x.Detail = r.Refusal.Reason, r.Refusal.Text
		case errors.Is(why, negotiate.ErrOpenFiles), errors.Is(why, unix.EMFILE), errors.Is(why, unix.ENFILE):
			x.Reason, x.Detail = negotiate.ReasonLimit, why.Error()
		case errors.Is(why, os.ErrDeadlineExceeded), why != nil && !errors.Is(why, ErrProtocol):
			x.Reason, x.Detail = negotiate.ReasonSocketUnreachable, why.Error()
		case why != nil:
			x.Reason, x.Detail = negotiate.ReasonProtocol, why.Error()
		}
		out = append(out, x)
	}
	return out
}
