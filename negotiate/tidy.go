// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"strings"
	"unicode"
)

// Bounds of free texts.
const (
	maxText  = 1024 // bytes
	maxKnown = 256  // stream names in a refusal
)

// text makes a free text safe to log and to print: valid UTF-8, one line, no
// control characters (a terminal would obey them) and none that turn the
// direction of what follows, at most maxText bytes.
func text(s string) string {
	cut := len(s) > maxText
	if cut {
		s = s[:maxText-len("…")]
	}
	s = strings.ToValidUTF8(s, "")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp):
			return ' '
		}
		return r
	}, s)
	if cut {
		s += "…"
	}
	return s
}

// tidy returns m with all free texts made safe. It leaves m itself alone. Texts
// are shortened and not refused because they come from places that nobody
// bounds, such as the last words of a child process.
func tidy(m *Message) *Message {
	out := *m
	if m.Hello != nil {
		h := *m.Hello
		h.DeviceDetail = text(h.DeviceDetail)
		out.Hello = &h
	}
	if m.Offer != nil {
		o := *m.Offer
		o.Rejected = tidyRejected(o.Rejected)
		o.Stream = tidyStream(o.Stream)
		out.Offer = &o
	}
	if m.Probe != nil {
		p := *m.Probe
		p.Detail = text(p.Detail)
		out.Probe = &p
	}
	if m.Reconfig != nil {
		r := *m.Reconfig
		r.Stream = tidyStream(r.Stream)
		out.Reconfig = &r
	}
	out.Evict = tidyRefusal(m.Evict)
	out.Reject = tidyRefusal(m.Reject)
	if m.Bye != nil {
		out.Bye = &Bye{Reason: text(m.Bye.Reason)}
	}
	if m.Streams != nil {
		l := *m.Streams
		l.Version = text(l.Version)
		l.Streams = make([]StreamInfo, 0, len(m.Streams.Streams))
		for _, s := range m.Streams.Streams {
			l.Streams = append(l.Streams, tidyStream(s))
		}
		out.Streams = &l
	}
	return &out
}

func tidyStream(s StreamInfo) StreamInfo {
	s.Source = text(s.Source)
	s.Problem = text(s.Problem)
	return s
}

func tidyRejected(in []Rejected) []Rejected {
	if len(in) == 0 {
		return nil
	}
	out := make([]Rejected, 0, len(in))
	for _, r := range in {
		r.Detail = text(r.Detail)
		out = append(out, r)
	}
	return out
}

func tidyRefusal(in *Refusal) *Refusal {
	if in == nil {
		return nil
	}
	out := *in
	out.Text = text(in.Text)
	out.Rejected = tidyRejected(in.Rejected)
	if len(out.Known) > maxKnown {
		out.Known = out.Known[:maxKnown:maxKnown]
	}
	return &out
}
