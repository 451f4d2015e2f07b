// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"fmt"
	"net/url"
	"strings"
)

// The keys by which streams are found over Zenoh. Each stream has a liveliness
// token and a queryable at
//
//	camd/1/BOOT-ID/CAMERA/STREAM
//
// and each subscriber that gets it over Zenoh a liveliness token at
//
//	camd/1/BOOT-ID/CAMERA/STREAM/sub/ZID/HOST/PROGRAM/REASONS
//
// where REASONS are the better paths that it did not get, "shm:different_host",
// with commas between. Parts are escaped as in URLs wherever they are not of
// letters, digits and - . _ ~ : and commas; "-" stands for one that is empty.
const (
	announceRoot = "camd/1/"
	announceSub  = "sub"
	noPart       = "-"
)

const (
	// AnnounceAll is the key expression of all streams of all hosts.
	AnnounceAll = announceRoot + "*/*/*"
	// maxAnnounceKey is the most bytes of a key.
	maxAnnounceKey = 2048
)

// AnnouncedKey is a stream of a host by its key.
type AnnouncedKey struct {
	BootID string // of the host; "" if that has none
	Stream string // "camera/stream"
}

// String is the key: of the token, of the queryable and of its replies.
func (k AnnouncedKey) String() string {
	camera, stream, _ := strings.Cut(k.Stream, "/")
	return announceRoot + part(k.BootID) + "/" + part(camera) + "/" + part(stream)
}

// AnnouncedStream is the key expression of a stream on any host.
func AnnouncedStream(stream string) string {
	camera, stream, _ := strings.Cut(stream, "/")
	return announceRoot + "*/" + part(camera) + "/" + part(stream)
}

// AnnouncedHostSubscribers is the key expression of the subscribers of all
// streams of a host.
func AnnouncedHostSubscribers(bootID string) string {
	return announceRoot + part(bootID) + "/*/*/" + announceSub + "/*/*/*/*"
}

// ParseAnnouncedKey reads the key of a stream. Errors are [ErrAnnouncement].
func ParseAnnouncedKey(key string) (AnnouncedKey, error) {
	parts, err := announcedParts(key, 3)
	if err != nil {
		return AnnouncedKey{}, err
	}
	k := AnnouncedKey{BootID: parts[0], Stream: parts[1] + "/" + parts[2]}
	return k, k.validate(key)
}

func (k AnnouncedKey) validate(key string) error {
	for _, err := range []error{checkOptional("boot id", k.BootID, maxWord), checkName("stream", k.Stream, MaxName)} {
		if err != nil {
			return fmt.Errorf("%w: key %.200q: %w", ErrAnnouncement, key, err)
		}
	}
	return nil
}

// SubscriberKey is a subscriber of a stream by the key of its token.
type SubscriberKey struct {
	AnnouncedKey
	// ID is the subscriber's Zenoh session, and where that subscribes several
	// times to a stream a dot and a number after it.
	ID       string
	Host     string
	Program  string
	Rejected []Rejected // better backends, and why not; details do not travel
}

// String is the key of the token.
func (k SubscriberKey) String() string {
	var reasons []string
	for _, r := range k.Rejected {
		reasons = append(reasons, escape(string(r.Backend))+":"+escape(string(r.Reason)))
	}
	summary := strings.Join(reasons, ",")
	if summary == "" {
		summary = noPart
	}
	return strings.Join([]string{k.AnnouncedKey.String(), announceSub, part(k.ID), part(k.Host), part(k.Program), summary}, "/")
}

// ParseSubscriberKey reads the key of a subscriber's token. Errors are
// [ErrAnnouncement].
func ParseSubscriberKey(key string) (SubscriberKey, error) {
	parts, err := announcedParts(key, 8)
	if err != nil {
		return SubscriberKey{}, err
	}
	if parts[3] != announceSub {
		return SubscriberKey{}, fmt.Errorf("%w: key %.200q", ErrAnnouncement, key)
	}
	k := SubscriberKey{
		AnnouncedKey: AnnouncedKey{BootID: parts[0], Stream: parts[1] + "/" + parts[2]},
		ID:           parts[4], Host: parts[5], Program: parts[6],
	}
	if parts[7] != "" {
		for one := range strings.SplitSeq(parts[7], ",") {
			backend, reason, _ := strings.Cut(one, ":")
			k.Rejected = append(k.Rejected, Rejected{Backend: Backend(backend), Reason: Reason(reason)})
		}
	}
	if err := k.validate(key); err != nil {
		return SubscriberKey{}, err
	}
	for _, err := range []error{
		checkOptional("id", k.ID, MaxName), checkOptional("host", k.Host, 2*MaxName),
		checkOptional("program", k.Program, MaxName), checkRejected(k.Rejected),
	} {
		if err != nil {
			return SubscriberKey{}, fmt.Errorf("%w: key %.200q: %w", ErrAnnouncement, key, err)
		}
	}
	return k, nil
}

// announcedParts takes a key apart into n unescaped parts behind the root.
func announcedParts(key string, n int) ([]string, error) {
	rest, ok := strings.CutPrefix(key, announceRoot)
	if !ok || len(key) > maxAnnounceKey || strings.Count(rest, "/") != n-1 {
		return nil, fmt.Errorf("%w: key %.200q", ErrAnnouncement, key)
	}
	parts := strings.Split(rest, "/")
	for i, p := range parts {
		plain, err := url.PathUnescape(p)
		if err != nil || p == "" {
			return nil, fmt.Errorf("%w: key %.200q: %.100q", ErrAnnouncement, key, p)
		}
		if p == noPart {
			plain = ""
		}
		parts[i] = plain
	}
	return parts, nil
}

func part(s string) string {
	if s == "" {
		return noPart
	}
	return escape(s)
}

// escape keeps letters, digits and - . _ ~: also what Zenoh gives a meaning ($ *
// # ? / and @ in front) becomes %XX.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// bootParameter is the parameter of a query by which who asks says where it is.
const bootParameter = "boot"

// AskBoot is the parameters of a query from a host with this boot id: the daemon
// there answers with its runtime directory. The id is a hint and no secret; who
// may use the socket is decided there.
func AskBoot(bootID string) string {
	if bootID == "" {
		return ""
	}
	return bootParameter + "=" + escape(bootID)
}

// AskedFrom is the boot id that the parameters of a query name; "" if none.
func AskedFrom(parameters string) string {
	for one := range strings.SplitSeq(parameters, ";") {
		if name, value, _ := strings.Cut(one, "="); name == bootParameter {
			if plain, err := url.PathUnescape(value); err == nil && len(plain) <= maxWord {
				return plain
			}
		}
	}
	return ""
}
