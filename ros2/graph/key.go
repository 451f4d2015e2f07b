// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"strconv"
	"strings"
)

// HashNotSupported stands for the type hash on ROS 2 Humble, which has none.
const HashNotSupported = "TypeHashNotSupported"

// ValidHash reports whether hash is RIHS01_ and 64 lower-case hexadecimal
// digits, or stands for none.
func ValidHash(hash string) bool {
	digits, ok := strings.CutPrefix(hash, "RIHS01_")
	if !ok {
		return hash == HashNotSupported || hash == ""
	}
	return len(digits) == 64 && strings.Trim(digits, "0123456789abcdef") == ""
}

const (
	cpuChunk = "_buf_cpu"
	ownChunk = "_buf"
)

// TopicKey returns the key that publishers of a topic put on and subscribers
// subscribe to: domain/topic/type/hash. topic is fully qualified, typeName of
// the form sensor_msgs/msg/Image, and hash "RIHS01_…", or "" for
// [HashNotSupported].
func TopicKey(domain int, topic, typeName, hash string) string {
	if hash == "" {
		hash = HashNotSupported
	}
	return strconv.Itoa(domain) + "/" + strings.TrimPrefix(topic, "/") + "/" + WireType(typeName) + "/" + hash
}

// CPUKey returns the key below the topic's own where publishers of Lyrical and
// later put ordinary CDR for the subscribers that announced the backend cpu.
func CPUKey(topicKey string) string { return topicKey + "/" + cpuChunk }

// BufferKey returns the key below the topic's own where publishers of Lyrical
// and later put for the one subscriber with the GID, if it announced anything
// but cpu.
func BufferKey(topicKey string, subscriber GID) string {
	return topicKey + "/" + ownChunk + "/" + subscriber.String()
}

// Key is what a topic's key says.
type Key struct {
	Domain      int
	Topic, Type string // fully qualified; sensor_msgs/msg/Image
	Hash        string
	CPU         bool // of the form of [CPUKey]
	Buffer      bool // of the form of [BufferKey], with Subscriber set
	Subscriber  GID
}

// String returns the key.
func (k Key) String() string {
	s := TopicKey(k.Domain, k.Topic, k.Type, k.Hash)
	switch {
	case k.CPU:
		return CPUKey(s)
	case k.Buffer:
		return BufferKey(s, k.Subscriber)
	}
	return s
}

// ParseKey takes a topic's key apart, also those of [CPUKey] and [BufferKey].
// It fails with [ErrKey].
func ParseKey(s string) (Key, error) {
	bad := func(why string) (Key, error) { return Key{}, fmt.Errorf("%w: %.200q: %s", ErrKey, s, why) }
	if !printable(s) {
		return bad("characters that no key of ROS has")
	}
	c := strings.Split(s, "/")
	var k Key
	switch n := len(c); {
	case n > 2 && c[n-1] == cpuChunk:
		k.CPU = true
		c = c[:n-1]
	case n > 3 && c[n-2] == ownChunk:
		gid, err := ParseGID(c[n-1])
		if err != nil {
			return bad("no GID behind " + ownChunk)
		}
		k.Buffer, k.Subscriber = true, gid
		c = c[:n-2]
	}
	n := len(c)
	if n < 4 {
		return bad("too few chunks")
	}
	domain, err := number(c[0], strconv.IntSize-1)
	if err != nil {
		return bad("the domain is no number")
	}
	k.Domain = int(domain)
	k.Topic = "/" + strings.Join(c[1:n-2], "/")
	if ValidateTopic(k.Topic) != nil {
		return bad("the topic has no valid name")
	}
	k.Type, k.Hash = ROSType(c[n-2]), c[n-1]
	if k.Type == "" || k.Hash == "" {
		return bad("an empty chunk")
	}
	return k, nil
}

// number reads a decimal number without sign or blanks.
func number(s string, bits int) (uint64, error) {
	return strconv.ParseUint(s, 10, bits)
}

// printable reports whether s is of visible ASCII characters, as all names and
// keys of ROS are, and of none that mean something in a key expression.
func printable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '*' || c == '$' || c == '?' || c == '#' {
			return false
		}
	}
	return true
}
