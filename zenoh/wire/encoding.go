// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"
	"time"
)

// CustomEncoding is the id of encodings that have no id of their own: their
// whole text is the schema.
const CustomEncoding = 0xFFFF

var encodings = [...]string{
	"zenoh/bytes", "zenoh/string", "zenoh/serialized", "application/octet-stream", "text/plain", "application/json", "text/json",
	"application/cdr", "application/cbor", "application/yaml", "text/yaml", "text/json5", "application/python-serialized-object",
	"application/protobuf", "application/java-serialized-object", "application/openmetrics-text", "image/png", "image/jpeg", "image/gif",
	"image/bmp", "image/webp", "application/xml", "application/x-www-form-urlencoded", "text/html", "text/xml", "text/css",
	"text/javascript", "text/markdown", "text/csv", "application/sql", "application/coap-payload", "application/json-patch+json",
	"application/json-seq", "application/jsonpath", "application/jwt", "application/mp4", "application/soap+xml", "application/yang",
	"audio/aac", "audio/flac", "audio/mp4", "audio/ogg", "audio/vorbis", "video/h261", "video/h263", "video/h264", "video/h265",
	"video/h266", "video/mp4", "video/ogg", "video/raw", "video/vp8", "video/vp9",
}

// String is the text form: name, or name;schema.
func (e Encoding) String() string {
	name := ""
	switch {
	case e.ID == CustomEncoding:
		return e.Schema
	case int(e.ID) < len(encodings):
		name = encodings[e.ID]
	default:
		name = fmt.Sprintf("unknown(%d)", e.ID)
	}
	if e.Schema != "" {
		return name + ";" + e.Schema
	}
	return name
}

// ParseEncoding reads the text form. A name that is not registered makes a
// custom encoding. At most 255 bytes of schema are kept.
func ParseEncoding(s string) Encoding {
	name, schema, _ := strings.Cut(s, ";")
	e := Encoding{Schema: schema}
	if s == "" {
		return Encoding{}
	}
	e.ID = CustomEncoding
	for i, n := range encodings {
		if n == name {
			e.ID = uint16(i)
		}
	}
	if e.ID == CustomEncoding {
		e.Schema = s
	}
	if len(e.Schema) > 255 {
		e.Schema = e.Schema[:255]
	}
	return e
}

// Time is the time of t. Its fraction is exact to a quarter of a nanosecond
// before it is cut.
func (t Timestamp) Time() time.Time {
	frac := t.NTP64 & 0xFFFFFFFF
	return time.Unix(int64(t.NTP64>>32), int64(frac*1_000_000_000>>32))
}

// String is the text form: RFC 3339 time, slash, id.
func (t Timestamp) String() string {
	return t.Time().UTC().Format("2006-01-02T15:04:05.000000000Z") + "/" + t.ID.String()
}

// NTP64 is the number of a time in a [Timestamp].
func NTP64(t time.Time) uint64 {
	ns := uint64(t.Nanosecond())
	return uint64(t.Unix())<<32 | (ns<<32)/1_000_000_000
}

// Before says whether t is older than o: by time, then by id.
func (t Timestamp) Before(o Timestamp) bool {
	if t.NTP64 != o.NTP64 {
		return t.NTP64 < o.NTP64
	}
	return string(t.ID[:]) < string(o.ID[:])
}
