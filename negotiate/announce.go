// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// AnnounceVersion is that of the keys and documents by which streams are found
// over Zenoh. Documents only gain fields; what means something else has another
// number, in the key as well.
const AnnounceVersion = 1

// MaxAnnouncement is the most bytes that an encoded [Announcement] has.
const MaxAnnouncement = 16 << 10

const (
	maxAnnouncedSubscribers = 64
	maxAnnouncedTopics      = 16
	maxPath                 = 4096
)

// ErrAnnouncement reports bytes that are no announcement, or one of another
// version.
var ErrAnnouncement = errors.New("not an announcement of a stream")

// Announcement is what a daemon answers over Zenoh when it is asked for a
// stream, as JSON: what list says of it on the local socket, and who reads it.
// Nothing in it opens anything: memory is handed over on the local socket only.
//
// Two daemons of one host answer with one key when they have cameras of the same
// name: ask without consolidation, and tell them apart by Session.
type Announcement struct {
	Protocol int        `json:"protocol"` // AnnounceVersion
	Host     string     `json:"host"`
	BootID   string     `json:"boot_id"` // of the host; see linux.BootID
	Session  string     `json:"session"` // hexadecimal frame.Session
	Version  string     `json:"version"` // of camd
	PID      int        `json:"pid"`
	Stream   StreamInfo `json:"stream"`
	// Subscribers are all that the daemon knows, over every path.
	Subscribers []AnnouncedSubscriber `json:"subscribers"`
	Topics      []AnnouncedTopic      `json:"topics"`
	// RuntimeDir is where the socket is: only in answers to who is on the same
	// host by its own word, see [AskBoot]. That one may be in a container, where
	// the directory is another one or none.
	RuntimeDir string `json:"runtime_dir,omitempty"`
	// Truncated is set when subscribers were left out for the size.
	Truncated bool `json:"truncated,omitempty"`
}

// AnnouncedSubscriber is a subscriber as other hosts may know it.
type AnnouncedSubscriber struct {
	Backend  Backend    `json:"backend"`
	Host     string     `json:"host,omitempty"`   // "" = that of the daemon, or not known
	Client   string     `json:"client,omitempty"` // program
	Since    time.Time  `json:"since,omitzero"`
	Rejected []Rejected `json:"rejected,omitempty"` // better backends, and why not
}

// AnnouncedTopic is a topic of ROS 2 on which the stream is published.
type AnnouncedTopic struct {
	Topic    string `json:"topic"`
	Type     string `json:"type"` // "sensor_msgs/msg/Image"
	Encoding string `json:"encoding,omitempty"`
	QoS      string `json:"qos,omitempty"`
}

// Encode checks the announcement, makes its texts safe and turns it into JSON of
// at most [MaxAnnouncement] bytes; subscribers beyond that are left out. Errors
// are [ErrMessage].
func (a Announcement) Encode() ([]byte, error) {
	a.Protocol = AnnounceVersion
	if len(a.Subscribers) > maxAnnouncedSubscribers {
		a.Subscribers, a.Truncated = a.Subscribers[:maxAnnouncedSubscribers], true
	}
	a = a.tidy()
	if err := a.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	for {
		b, err := json.Marshal(a)
		if err != nil {
			return nil, fmt.Errorf("%w: announcement: %w", ErrMessage, err)
		}
		if len(b) <= MaxAnnouncement {
			return b, nil
		}
		n := len(a.Subscribers)
		if n == 0 {
			return nil, fmt.Errorf("%w: announcement takes %d bytes, at most %d are allowed", ErrMessage, len(b), MaxAnnouncement)
		}
		a.Subscribers, a.Truncated = a.Subscribers[:n/2], true
	}
}

// DecodeAnnouncement reads what [Announcement.Encode] made. Texts come out safe
// to print. Errors are [ErrAnnouncement].
func DecodeAnnouncement(b []byte) (*Announcement, error) {
	if len(b) > MaxAnnouncement {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrAnnouncement, len(b), MaxAnnouncement)
	}
	// The version first: the rest of another one may have any shape.
	var head struct {
		Protocol int `json:"protocol"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnnouncement, err)
	}
	if head.Protocol != AnnounceVersion {
		return nil, fmt.Errorf("%w: protocol %d, want %d", ErrAnnouncement, head.Protocol, AnnounceVersion)
	}
	var a Announcement
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnnouncement, err)
	}
	a = a.tidy()
	if err := a.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnnouncement, err)
	}
	return &a, nil
}

// tidy leaves the lists that it was given alone.
func (a Announcement) tidy() Announcement {
	a.Version = text(a.Version)
	a.Stream = tidyStream(a.Stream)
	subscribers := make([]AnnouncedSubscriber, 0, len(a.Subscribers))
	for _, s := range a.Subscribers {
		s.Rejected = tidyRejected(s.Rejected)
		subscribers = append(subscribers, s)
	}
	a.Subscribers = subscribers
	topics := make([]AnnouncedTopic, 0, len(a.Topics))
	for _, t := range a.Topics {
		t.QoS = text(t.QoS)
		topics = append(topics, t)
	}
	a.Topics = topics
	return a
}

func (a *Announcement) validate() error {
	if len(a.Subscribers) > maxAnnouncedSubscribers || len(a.Topics) > maxAnnouncedTopics {
		return fmt.Errorf("%d subscribers and %d topics, at most %d and %d are allowed",
			len(a.Subscribers), len(a.Topics), maxAnnouncedSubscribers, maxAnnouncedTopics)
	}
	for _, s := range a.Subscribers {
		if err := errors.Join(
			checkName("backend", string(s.Backend), maxWord),
			checkOptional("host", s.Host, 2*MaxName),
			checkOptional("client", s.Client, MaxName),
			checkRejected(s.Rejected),
		); err != nil {
			return err
		}
	}
	for _, t := range a.Topics {
		if err := errors.Join(
			checkName("topic", t.Topic, maxTopic),
			checkOptional("type", t.Type, maxTopic),
			checkOptional("encoding", t.Encoding, MaxName),
		); err != nil {
			return err
		}
	}
	return errors.Join(
		checkOptional("host", a.Host, 2*MaxName),
		checkOptional("boot id", a.BootID, maxWord),
		checkHex("session", a.Session, sessionHex),
		checkRange("pid", a.PID, 0, 1<<30),
		checkOptional("runtime directory", a.RuntimeDir, maxPath),
		a.Stream.validate(),
	)
}
