// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"encoding/json"

	"github.com/seed-3c7e7623/camd/frame"
)

// Version of the local protocol. Both sides must agree on Major; a higher Minor
// only adds fields and message types, which the other side ignores.
const (
	Major = 1
	Minor = 1 // 1: memory of GPUs
)

// MaxPacket is the largest packet in bytes that either side accepts.
const MaxPacket = 64 << 10

// Type is the kind of a message. Each packet is one JSON object with the
// member "type" and, for most types, one member of the same name.
type Type string

// The message types. C: sent by the client, D: by the daemon.
const (
	TypeHello    Type = "hello"    // C: wants to subscribe
	TypeOffer    Type = "offer"    // D: with fds: ring header, ring pixels or the handle of device memory
	TypeProbe    Type = "probe"    // C: result of mapping what was offered
	TypeStart    Type = "start"    // D: with fds: the reader's page, wake-up memory, then the wake pipe if asked for
	TypeReconfig Type = "reconfig" // D: a new epoch, with fds: header, pixels, page, wake-up memory
	TypeAck      Type = "ack"      // C: the new epoch is mapped, grants may begin
	TypeKick     Type = "kick"     // C: look at my returned leases now
	TypeEvict    Type = "evict"    // D: the subscription is over because of the reader's doing
	TypeReject   Type = "reject"   // D: no; the socket closes after it
	TypeBye      Type = "bye"      // C and D: the clean end
	TypeList     Type = "list"     // C: asks for streams
	TypeStreams  Type = "streams"  // D: answers list
	TypeStatus   Type = "status"   // C asks (without member), D answers
)

// Message is one packet. Exactly the member that belongs to Type is set.
type Message struct {
	Type     Type        `json:"type"`
	Hello    *Hello      `json:"hello,omitempty"`
	Offer    *Offer      `json:"offer,omitempty"`
	Probe    *Probe      `json:"probe,omitempty"`
	Start    *Start      `json:"start,omitempty"`
	Reconfig *Reconfig   `json:"reconfig,omitempty"`
	Ack      *Ack        `json:"ack,omitempty"`
	Evict    *Refusal    `json:"evict,omitempty"`
	Reject   *Refusal    `json:"reject,omitempty"`
	Bye      *Bye        `json:"bye,omitempty"`
	List     *List       `json:"list,omitempty"`
	Streams  *StreamList `json:"streams,omitempty"`
	// Status is opaque here: its shape belongs to the daemon's status document.
	Status json.RawMessage `json:"status,omitempty"`
}

// Protocol is the version that a side speaks.
type Protocol struct {
	Major    int      `json:"major"`
	Minor    int      `json:"minor"`
	Features []string `json:"features,omitempty"`
}

// Backend names one of the ways out.
type Backend string

// The backends, best first.
const (
	BackendCUDA Backend = "cuda"
	BackendSHM  Backend = "shm"
	BackendCPU  Backend = "cpu"
)

// WakeKind is how a reader wants to learn of a new frame.
type WakeKind string

// The kinds of wake-up.
const (
	WakeFutex WakeKind = "futex" // FUTEX_WAIT on the counter in the ring header
	WakePipe  WakeKind = "pipe"  // a byte in a pipe, for event loops
)

// Stamp is which time the header of a frame carries, where there is one: that of
// ROS messages. "" is as good as [StampCapture].
type Stamp string

// The stamps.
const (
	StampCapture Stamp = "capture" // when the picture was taken
	StampPublish Stamp = "publish" // when hand-over to readers began
)

// HeaderNanos is the time for a frame's header, CLOCK_REALTIME in nanoseconds;
// 0 = not known.
func (s Stamp) HeaderNanos(m *frame.Meta) int64 {
	if s == StampPublish && m.WallNanos != 0 && m.PublishNanos != 0 {
		return m.WallNanos + m.PublishNanos - m.CaptureNanos
	}
	return m.WallNanos
}

// Hello opens a subscription.
type Hello struct {
	Protocol Protocol  `json:"protocol"`
	Stream   string    `json:"stream"`            // "camera/stream"
	Accepts  []Backend `json:"accepts"`           // what the client can use, any order
	Require  Backend   `json:"require,omitempty"` // this or nothing
	Wake     WakeKind  `json:"wake,omitempty"`    // default futex
	Credit   int       `json:"credit,omitempty"`  // frames held at a time; 0 = the daemon's default
	Client   string    `json:"client,omitempty"`  // program name, for status
	BootID   string    `json:"boot_id,omitempty"` // a hint, never proof

	// Of a client that accepts cuda: what it sees, what it can import, and the
	// version of its driver (13000 = 13.0).
	GPUs    []GPU        `json:"gpus,omitempty"`
	Handles []HandleKind `json:"handles,omitempty"`
	Driver  int          `json:"driver,omitempty"`
	// DeviceReason is why this client cannot use memory of a GPU although it
	// accepts cuda, for the list of what was rejected; "" where it can.
	DeviceReason Reason `json:"device_reason,omitempty"`
	DeviceDetail string `json:"device_detail,omitempty"`
	// PIDNamespace is the inode of /proc/self/ns/pid, a hint for people.
	PIDNamespace uint64 `json:"pid_namespace,omitempty"`
}

// Rejected is a backend that was considered and not taken.
type Rejected struct {
	Backend Backend `json:"backend"`
	Reason  Reason  `json:"reason"`
	Detail  string  `json:"detail,omitempty"`
}

// StreamInfo describes a stream to clients.
type StreamInfo struct {
	Name       string         `json:"name"` // "camera/stream"
	Camera     string         `json:"camera"`
	Source     string         `json:"source"` // what people read: "pattern", "replay walk.avi"
	State      string         `json:"state"`  // of the camera, see capture.State
	StateSince int64          `json:"state_since_unix_ms,omitempty"`
	Problem    string         `json:"problem,omitempty"` // why, when State is not "running"
	Geometry   frame.Geometry `json:"geometry,omitzero"` // zero until the source opened the stream
	Color      frame.Color    `json:"color,omitzero"`    // of Y'CbCr, as far as the source says
	IntervalNS int64          `json:"interval_ns,omitempty"`
	Clock      string         `json:"clock,omitempty"`
	Stamp      Stamp          `json:"stamp,omitempty"`
	FrameID    string         `json:"frame_id,omitempty"` // coordinate frame of the picture, for headers as in ROS
	Epoch      uint64         `json:"epoch"`
	Subscribed int            `json:"subscribers"`
	Host       string         `json:"host,omitempty"`
	// Topic is where the pictures are published for ROS 2 over Zenoh, with the
	// slash in front, and Domain the ROS domain; "" where they are not.
	Topic  string `json:"topic,omitempty"`
	Domain int    `json:"domain,omitempty"`
	// Withheld is why there is no Topic, where that is no matter of time: the
	// settings of camd keep it back.
	Withheld Reason `json:"withheld,omitempty"`
	// Publisher is the Zenoh session that publishes there: cameras of several
	// hosts may have one topic. "" while there is no session.
	Publisher string `json:"publisher,omitempty"`
}

// Layout is the shape of a ring, to be held against what the header says.
type Layout struct {
	Version     int    `json:"version"`
	Slots       int    `json:"slots"`
	HeaderBytes int64  `json:"header_bytes"`
	StrideBytes int64  `json:"stride_bytes"` // from slot to slot
	PixelBytes  int64  `json:"pixel_bytes"`  // of the whole pixel memory
	PageBytes   int64  `json:"page_bytes"`   // of a reader's own page
	Epoch       uint64 `json:"epoch"`
}

// Offer is the daemon's answer to Hello.
type Offer struct {
	Protocol  Protocol   `json:"protocol"`
	Session   string     `json:"session"` // hexadecimal frame.Session
	Backend   Backend    `json:"backend"`
	Rejected  []Rejected `json:"rejected,omitempty"` // better ones, and why not
	Stream    StreamInfo `json:"stream"`
	Layout    Layout     `json:"layout"`
	Challenge string     `json:"challenge"` // to be answered in Probe
	// Device is set with the cuda backend, where the pixels are.
	Device *Device `json:"device,omitempty"`
}

// Probe is what the client found when it mapped the offer. Proof is
// hex(SHA-256(challenge bytes as sent || the 32 probe bytes in the ring header)),
// with an offer of device memory || the 32 probe bytes in that.
type Probe struct {
	OK     bool   `json:"ok"`
	Proof  string `json:"proof,omitempty"`
	Reason Reason `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Start begins the subscription.
type Start struct {
	Reader int `json:"reader"` // index of the reader in the ring
	Credit int `json:"credit"` // granted
}

// Reconfig replaces the ring.
type Reconfig struct {
	Stream StreamInfo `json:"stream"`
	Layout Layout     `json:"layout"`
	Reader int        `json:"reader"`
	Device *Device    `json:"device,omitempty"` // as in Offer
}

// Ack answers Reconfig.
type Ack struct {
	Epoch uint64 `json:"epoch"`
}

// Refusal is why something ended or never began.
type Refusal struct {
	Reason   Reason     `json:"reason"`
	Text     string     `json:"text"` // for people: what was asked, what was there
	Rejected []Rejected `json:"rejected,omitempty"`
	Known    []string   `json:"known,omitempty"` // stream names, with unknown_stream
}

// Bye ends a connection cleanly.
type Bye struct {
	Reason string `json:"reason,omitempty"` // one of those below, or words
}

// Why a connection ends cleanly.
const (
	ByeShutdown = "shutdown" // the daemon stops
	ByeEnded    = "ended"    // the daemon stops because every camera came to its end
	ByeRemoved  = "removed"  // the camera was taken out
	ByeDone     = "done"     // the client has enough
)

// List asks for the streams.
type List struct{}

// StreamList is the answer to List. A daemon with more streams than fit into a
// packet sends several; More is true on all but the last.
type StreamList struct {
	Protocol Protocol     `json:"protocol"`
	Session  string       `json:"session"`
	PID      int          `json:"pid"`
	Version  string       `json:"version"`
	Streams  []StreamInfo `json:"streams"`
	More     bool         `json:"more,omitempty"`
}
