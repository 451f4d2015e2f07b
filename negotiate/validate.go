// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"unicode"
	"unicode/utf8"

	"github.com/seed-3c7e7623/camd/frame"
)

// Bounds of what a message may say.
const (
	MaxCredit  = 16  // frames that a reader may hold at a time
	MaxAccepts = 8   // backends in one Hello
	MaxName    = 128 // bytes of a stream, camera or program name

	maxTopic    = 255 // bytes of a ROS topic
	maxWord     = 64  // bytes of a backend, reason, feature ...
	maxFeatures = 32
	maxRejected = 16
	maxSlots    = 1 << 12
	maxReaders  = 1 << 16
	maxMemory   = 1 << 40 // bytes of a ring
	sessionHex  = 2 * len(frame.Session{})
	proofHex    = 64 // SHA-256
)

// Validate checks that exactly the member that belongs to Type is set and that
// everything in it is within bounds. A message of an unknown type is valid.
func (m *Message) Validate() error {
	if m.Type == "" {
		return errors.New("no type")
	}
	if !m.Type.Known() {
		return nil
	}
	mine := false
	for _, member := range [...]struct {
		of  Type
		set bool
	}{
		{TypeHello, m.Hello != nil},
		{TypeOffer, m.Offer != nil},
		{TypeProbe, m.Probe != nil},
		{TypeStart, m.Start != nil},
		{TypeReconfig, m.Reconfig != nil},
		{TypeAck, m.Ack != nil},
		{TypeEvict, m.Evict != nil},
		{TypeReject, m.Reject != nil},
		{TypeBye, m.Bye != nil},
		{TypeList, m.List != nil},
		{TypeStreams, m.Streams != nil},
		{TypeStatus, m.Status != nil},
	} {
		if member.set && member.of != m.Type {
			return fmt.Errorf("type %q with member %q", m.Type, member.of)
		}
		mine = mine || member.set
	}
	switch m.Type {
	case TypeKick, TypeBye, TypeList, TypeStatus: // say enough by their type
	default:
		if !mine {
			return fmt.Errorf("type %q without member %q", m.Type, m.Type)
		}
	}
	if err := m.validateMember(); err != nil {
		return fmt.Errorf("%s: %w", m.Type, err)
	}
	return nil
}

func (m *Message) validateMember() error {
	switch {
	case m.Hello != nil:
		return m.Hello.validate()
	case m.Offer != nil:
		return m.Offer.validate()
	case m.Probe != nil:
		return m.Probe.validate()
	case m.Start != nil:
		return errors.Join(checkRange("reader", m.Start.Reader, 0, maxReaders),
			checkRange("credit", m.Start.Credit, 1, MaxCredit))
	case m.Reconfig != nil:
		return errors.Join(m.Reconfig.Stream.validate(), m.Reconfig.Layout.validate(),
			m.Reconfig.Device.validate(m.Reconfig.Layout), checkRange("reader", m.Reconfig.Reader, 0, maxReaders))
	case m.Evict != nil:
		return m.Evict.validate()
	case m.Reject != nil:
		return m.Reject.validate()
	case m.Streams != nil:
		return m.Streams.validate()
	}
	return nil
}

func (p Protocol) validate() error {
	if p.Major < 0 || p.Minor < 0 {
		return fmt.Errorf("protocol %d.%d", p.Major, p.Minor)
	}
	if len(p.Features) > maxFeatures {
		return fmt.Errorf("%d features, at most %d are allowed", len(p.Features), maxFeatures)
	}
	for _, f := range p.Features {
		if err := checkName("feature", f, maxWord); err != nil {
			return err
		}
	}
	return nil
}

func (h *Hello) validate() error {
	if err := h.Protocol.validate(); err != nil {
		return err
	}
	if h.Protocol.Major != Major {
		return nil // to be refused for its version: the rest may mean something else
	}
	if len(h.Accepts) > MaxAccepts {
		return fmt.Errorf("%d backends accepted, at most %d are allowed", len(h.Accepts), MaxAccepts)
	}
	if len(h.Accepts) == 0 && h.Require == "" {
		return errors.New("no backend accepted or required")
	}
	for _, b := range h.Accepts {
		if err := checkName("backend", string(b), maxWord); err != nil {
			return err
		}
	}
	switch h.Wake {
	case "", WakeFutex, WakePipe:
	default:
		return fmt.Errorf("wake %.64q: known are %q and %q", h.Wake, WakeFutex, WakePipe)
	}
	return errors.Join(
		checkName("stream", h.Stream, MaxName),
		checkOptional("backend", string(h.Require), maxWord),
		checkRange("credit", h.Credit, 0, MaxCredit),
		checkOptional("client", h.Client, MaxName),
		checkOptional("boot id", h.BootID, maxWord),
		h.validateDevices(),
	)
}

func (o *Offer) validate() error {
	if err := o.Protocol.validate(); err != nil {
		return err
	}
	if o.Protocol.Major != Major {
		return nil
	}
	if o.Backend == BackendCUDA && o.Device == nil {
		return errors.New("backend cuda without a device")
	}
	return errors.Join(
		checkHex("session", o.Session, sessionHex),
		checkName("backend", string(o.Backend), maxWord),
		checkRejected(o.Rejected),
		o.Stream.validate(),
		o.Layout.validate(),
		checkName("challenge", o.Challenge, MaxName),
		o.Device.validate(o.Layout),
	)
}

func (p *Probe) validate() error {
	if p.OK {
		return checkHex("proof", p.Proof, proofHex)
	}
	return checkName("reason", string(p.Reason), maxWord)
}

func (r *Refusal) validate() error {
	if len(r.Known) > maxKnown {
		return fmt.Errorf("%d known streams, at most %d are allowed", len(r.Known), maxKnown)
	}
	for _, k := range r.Known {
		if err := checkName("known stream", k, MaxName); err != nil {
			return err
		}
	}
	return errors.Join(checkName("reason", string(r.Reason), maxWord), checkRejected(r.Rejected))
}

func (l *StreamList) validate() error {
	if err := l.Protocol.validate(); err != nil {
		return err
	}
	if l.Protocol.Major != Major {
		return nil
	}
	for i := range l.Streams {
		if err := l.Streams[i].validate(); err != nil {
			return err
		}
	}
	return errors.Join(checkHex("session", l.Session, sessionHex), checkRange("pid", l.PID, 0, 1<<30))
}

func (s *StreamInfo) validate() error {
	if s.IntervalNS < 0 || s.Subscribed < 0 {
		return fmt.Errorf("stream %.128q: interval %d ns, %d subscribers", s.Name, s.IntervalNS, s.Subscribed)
	}
	if s.Geometry != (frame.Geometry{}) {
		if err := s.Geometry.Validate(); err != nil {
			return fmt.Errorf("stream %.128q: %w", s.Name, err)
		}
	}
	return errors.Join(
		checkName("stream", s.Name, MaxName),
		checkOptional("camera", s.Camera, MaxName),
		checkOptional("state", s.State, maxWord),
		checkOptional("clock", s.Clock, maxWord),
		checkOptional("matrix", string(s.Color.Matrix), maxWord),
		checkOptional("range", string(s.Color.Range), maxWord),
		checkOptional("stamp", string(s.Stamp), maxWord),
		checkOptional("frame id", s.FrameID, MaxName),
		checkOptional("host", s.Host, 2*MaxName),
		checkOptional("topic", s.Topic, maxTopic),
		checkOptional("withheld", string(s.Withheld), maxWord),
		checkOptional("publisher", s.Publisher, maxWord),
		checkRange("domain", s.Domain, 0, math.MaxInt32),
	)
}

// validate lets the zero layout pass: not every backend has a ring here.
func (l Layout) validate() error {
	if l == (Layout{}) {
		return nil
	}
	for _, n := range [...]struct {
		name string
		n    int64
	}{
		{"header", l.HeaderBytes},
		{"stride", l.StrideBytes},
		{"pixel", l.PixelBytes},
		{"page", l.PageBytes},
	} {
		if n.n < 1 || n.n > maxMemory {
			return fmt.Errorf("layout: %d %s bytes, want 1 to %d", n.n, n.name, int64(maxMemory))
		}
	}
	if l.Version < 1 || l.Slots < 1 || l.Slots > maxSlots || int64(l.Slots)*l.StrideBytes > l.PixelBytes {
		return fmt.Errorf("layout: version %d, %d slots of %d bytes in %d", l.Version, l.Slots, l.StrideBytes, l.PixelBytes)
	}
	return nil
}

func checkRejected(list []Rejected) error {
	if len(list) > maxRejected {
		return fmt.Errorf("%d rejected backends, at most %d are allowed", len(list), maxRejected)
	}
	for _, r := range list {
		if err := errors.Join(checkName("backend", string(r.Backend), maxWord), checkName("reason", string(r.Reason), maxWord)); err != nil {
			return err
		}
	}
	return nil
}

// checkName bounds a name that will stand in logs, tables and paths of topics.
func checkName(what, s string, limit int) error {
	if s == "" {
		return fmt.Errorf("no %s", what)
	}
	if len(s) > limit {
		return fmt.Errorf("%s of %d bytes, at most %d are allowed", what, len(s), limit)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s %q is not UTF-8", what, s)
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%s %q has a character that cannot be printed", what, s)
		}
	}
	return nil
}

func checkOptional(what, s string, limit int) error {
	if s == "" {
		return nil
	}
	return checkName(what, s, limit)
}

func checkRange(what string, n, low, high int) error {
	if n < low || n > high {
		return fmt.Errorf("%s %d, want %d to %d", what, n, low, high)
	}
	return nil
}

func checkHex(what, s string, digits int) error {
	if _, err := hex.DecodeString(s); err != nil || len(s) != digits {
		return fmt.Errorf("%s %.64q, want %d hexadecimal digits", what, s, digits)
	}
	return nil
}
