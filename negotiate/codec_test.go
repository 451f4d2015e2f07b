// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeAccepts(t *testing.T) {
	for _, c := range []struct {
		name   string
		packet string
		want   *Message
	}{
		{
			"unknown fields at both levels",
			`{"type":"start","later":[1],"start":{"reader":1,"credit":2,"colour":"red"}}`,
			&Message{Type: TypeStart, Start: &Start{Reader: 1, Credit: 2}},
		},
		{"a type of a later version, members of any shape", `{"type":"zoom","hello":7,"zoom":{}}`, &Message{Type: "zoom"}},
		{"members that are null", `{"type":"kick","hello":null,"status":null}`, &Message{Type: TypeKick}},
		{"white space", " {\n\t\"type\" : \"bye\" } ", &Message{Type: TypeBye}},
		{
			"another major version, whose hello says other things",
			`{"type":"hello","hello":{"protocol":{"major":2,"minor":1},"credit":-5}}`,
			&Message{Type: TypeHello, Hello: &Hello{Protocol: Protocol{Major: 2, Minor: 1}}},
		},
		{
			"a backend of a later version",
			`{"type":"hello","hello":{"protocol":{"major":1,"minor":3},"stream":"a/b","accepts":["rdma","shm"]}}`,
			&Message{Type: TypeHello, Hello: &Hello{Protocol: Protocol{Major: 1, Minor: 3}, Stream: "a/b", Accepts: []Backend{"rdma", BackendSHM}}},
		},
		{
			"a handle kind of a later version",
			`{"type":"hello","hello":{"protocol":{"major":1,"minor":9},"stream":"a/b","accepts":["cuda"],"handles":["fabric","vmm_fd"]}}`,
			&Message{Type: TypeHello, Hello: &Hello{Protocol: Protocol{Major: 1, Minor: 9}, Stream: "a/b", Accepts: []Backend{BackendCUDA}, Handles: []HandleKind{"fabric", HandleVMM}}},
		},
		{
			"text with control characters",
			`{"type":"reject","reject":{"reason":"limit","text":"a\u001b[31m\nb"}}`,
			&Message{Type: TypeReject, Reject: &Refusal{Reason: ReasonLimit, Text: "a [31m b"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := decode([]byte(c.packet))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	hello := func(rest string) string {
		return `{"type":"hello","hello":{"protocol":{"major":1},` + rest + `}}`
	}
	offer := func(rest string) string {
		return `{"type":"offer","offer":{"protocol":{"major":1},` + rest + `}}`
	}
	stream := func(rest string) string {
		return `{"type":"streams","streams":{"protocol":{"major":1},"session":"` + strings.Repeat("0", 32) + `","streams":[{` + rest + `}]}}`
	}
	reconfig := func(layout string) string {
		return `{"type":"reconfig","reconfig":{"stream":{"name":"a/b"},"layout":{` + layout + `}}}`
	}
	const ring = `"version":1,"slots":1,"header_bytes":1,"stride_bytes":100,"pixel_bytes":100,"page_bytes":1`
	for _, c := range []struct {
		name   string
		packet string
		words  string
	}{
		{"nothing", ``, "JSON"},
		{"bytes", "\x00\xff\xfe", "JSON"},
		{"cut off", `{"type":"hel`, "JSON"},
		{"an array", `[]`, "JSON"},
		{"null", `null`, "no type"},
		{"no type", `{}`, "no type"},
		{"type is a number", `{"type":7}`, "JSON"},
		{"type too long", `{"type":"` + strings.Repeat("t", 65) + `"}`, "at most 64"},
		{"type with a line break", `{"type":"a\nb"}`, "printed"},
		{"two messages", `{"type":"kick"}{"type":"kick"}`, "JSON"},
		{"nested too deep", `{"type":"status","status":` + strings.Repeat("[", 20000) + `}`, "JSON"},
		{"larger than a packet", `{"type":"bye","x":"` + strings.Repeat("x", MaxPacket) + `"}`, "at most 65536"},
		{"member missing", `{"type":"hello"}`, `without member "hello"`},
		{"member of another type", `{"type":"kick","ack":{"epoch":1}}`, `with member "ack"`},
		{"two members", `{"type":"ack","ack":{"epoch":1},"bye":{}}`, `with member "bye"`},
		{"member of the wrong shape", `{"type":"ack","ack":[]}`, "ack"},
		{"number out of range", `{"type":"ack","ack":{"epoch":-1}}`, "ack"},
		{"no stream", hello(`"accepts":["shm"]`), "no stream"},
		{"stream too long", hello(`"accepts":["shm"],"stream":"` + strings.Repeat("s", 129) + `"`), "at most 128"},
		{"stream with a terminal code", hello(`"accepts":["shm"],"stream":"a\u001b"`), "printed"},
		{"nothing accepted", hello(`"stream":"a/b"`), "no backend"},
		{"too much accepted", hello(`"stream":"a/b","accepts":["1","2","3","4","5","6","7","8","9"]`), "at most 8"},
		{"accepted without name", hello(`"stream":"a/b","accepts":[""]`), "no backend"},
		{"required name too long", hello(`"stream":"a/b","require":"` + strings.Repeat("r", 65) + `"`), "at most 64"},
		{"negative credit", hello(`"stream":"a/b","accepts":["shm"],"credit":-1`), "credit -1"},
		{"too much credit", hello(`"stream":"a/b","accepts":["shm"],"credit":17`), "0 to 16"},
		{"unknown wake", hello(`"stream":"a/b","accepts":["shm"],"wake":"bell"`), "wake"},
		{"client name too long", hello(`"stream":"a/b","accepts":["shm"],"client":"` + strings.Repeat("c", 129) + `"`), "at most 128"},
		{"negative version", `{"type":"hello","hello":{"protocol":{"major":-1}}}`, "protocol -1.0"},
		{"too many features", `{"type":"hello","hello":{"protocol":{"major":1,"features":["` + strings.Repeat(`f","`, 32) + `f"]}}}`, "33 features"},
		{"proof is no hash", `{"type":"probe","probe":{"ok":true,"proof":"12"}}`, "proof"},
		{"failure without reason", `{"type":"probe","probe":{"ok":false}}`, "no reason"},
		{"refusal without reason", `{"type":"evict","evict":{"text":"x"}}`, "no reason"},
		{"start without credit", `{"type":"start","start":{"reader":1}}`, "credit 0"},
		{"negative reader", `{"type":"start","start":{"reader":-1,"credit":1}}`, "reader -1"},
		{"offer without challenge", offer(`"session":"00000000000000000000000000000000","backend":"shm","stream":{"name":"a/b"}`), "no challenge"},
		{"offer without session", offer(`"challenge":"c","backend":"shm","stream":{"name":"a/b"}`), "session"},
		{"offer without backend", offer(`"session":"00000000000000000000000000000000","challenge":"c","stream":{"name":"a/b"}`), "no backend"},
		{"offer of no stream", offer(`"session":"00000000000000000000000000000000","challenge":"c","backend":"shm"`), "no stream"},
		{"offer with a rejection without reason", offer(`"session":"00000000000000000000000000000000","challenge":"c","backend":"shm","stream":{"name":"a/b"},"rejected":[{"backend":"cuda"}]`), "no reason"},
		{"too many rejections", `{"type":"reject","reject":{"reason":"limit","rejected":[` + strings.Repeat(`{},`, 16) + `{}]}}`, "17 rejected"},
		{"known stream without name", `{"type":"reject","reject":{"reason":"limit","known":[""]}}`, "no known stream"},
		{"session is no hash", `{"type":"streams","streams":{"protocol":{"major":1},"session":"xyz"}}`, "session"},
		{"stream without name", stream(`"camera":"a"`), "no stream"},
		{"impossible geometry", stream(`"name":"a/b","geometry":{"width":-1,"height":2,"encoding":"mono8","step":4}`), "geometry"},
		{"negative interval", stream(`"name":"a/b","interval_ns":-1`), "interval"},
		{"slots beyond the memory", reconfig(`"version":1,"slots":3,"header_bytes":1,"stride_bytes":100,"pixel_bytes":299,"page_bytes":1`), "3 slots"},
		{"slots that overflow", reconfig(`"version":1,"slots":9223372036854775807,"header_bytes":1,"stride_bytes":1099511627776,"pixel_bytes":1,"page_bytes":1`), "slots"},
		{"negative memory", reconfig(`"version":1,"slots":1,"header_bytes":1,"stride_bytes":1,"pixel_bytes":-1,"page_bytes":1`), "pixel"},
		{"too many GPUs", hello(`"stream":"a/b","accepts":["cuda"],"gpus":[` + strings.Repeat(`{"uuid":"u"},`, 64) + `{"uuid":"u"}]`), "65 GPUs"},
		{"GPU without UUID", hello(`"stream":"a/b","accepts":["cuda"],"gpus":[{"name":"x"}]`), "no GPU UUID"},
		{"GPU with a terminal code", hello(`"stream":"a/b","accepts":["cuda"],"gpus":[{"uuid":"u","name":"\u001b"}]`), "printed"},
		{"too many handle kinds", hello(`"stream":"a/b","accepts":["cuda"],"handles":["1","2","3","4","5","6","7","8","9"]`), "9 handle kinds"},
		{"negative driver", hello(`"stream":"a/b","accepts":["cuda"],"driver":-1`), "driver -1"},
		{"device reason too long", hello(`"stream":"a/b","accepts":["cuda"],"device_reason":"` + strings.Repeat("r", 65) + `"`), "at most 64"},
		{"cuda without a device", offer(`"session":"00000000000000000000000000000000","challenge":"c","backend":"cuda","stream":{"name":"a/b"}`), "without a device"},
		{"device without a ring", offer(`"session":"00000000000000000000000000000000","challenge":"c","backend":"cuda","stream":{"name":"a/b"},"device":{"uuid":"u","handle":"vmm_fd","bytes":4096}`), "behind 0 bytes"},
		{"device probe in the pixels", reconfig(ring + `},"device":{"uuid":"u","handle":"vmm_fd","bytes":4096,"probe_offset":99`), "probe at 99"},
		{"device probe beyond the memory", reconfig(ring + `},"device":{"uuid":"u","handle":"vmm_fd","bytes":131,"probe_offset":100`), "probe at 100 of 131"},
		{"device probe that overflows", reconfig(ring + `},"device":{"uuid":"u","handle":"vmm_fd","bytes":-9223372036854775808,"probe_offset":100`), "device"},
		{"device without UUID", reconfig(ring + `},"device":{"handle":"vmm_fd","bytes":4096,"probe_offset":100`), "no GPU UUID"},
		{"device without handle", reconfig(ring + `},"device":{"uuid":"u","bytes":4096,"probe_offset":100`), "no handle kind"},
		{"endless memory", reconfig(`"version":1,"slots":1,"header_bytes":1099511627777,"stride_bytes":1,"pixel_bytes":1,"page_bytes":1`), "header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := decode([]byte(c.packet))
			if m != nil || !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, %v; want ErrProtocol with %q", m, err, c.words)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	many := &StreamList{Protocol: Current(), Session: strings.Repeat("0", 32)}
	for i := range 1000 {
		many.Streams = append(many.Streams, StreamInfo{Name: fmt.Sprintf("camera%d/color", i)})
	}
	for _, c := range []struct {
		name string
		m    *Message
	}{
		{"nothing", nil},
		{"no type", &Message{}},
		{"no member", &Message{Type: TypeHello}},
		{"wrong member", &Message{Type: TypeKick, Ack: &Ack{}}},
		{"too large", &Message{Type: TypeStreams, Streams: many}},
		{"status that is no JSON", &Message{Type: TypeStatus, Status: json.RawMessage(`{`)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if b, err := encode(c.m); b != nil || !errors.Is(err, ErrMessage) || errors.Is(err, ErrProtocol) {
				t.Errorf("got %q, %v; want ErrMessage", b, err)
			}
		})
	}
}

// Texts come from anywhere: they are cut, not refused, and the message that
// holds them stays as it was.
func TestTextsAreTidied(t *testing.T) {
	long := strings.Repeat("ü\n", maxText)
	known := make([]string, maxKnown+10)
	for i := range known {
		known[i] = "a/b"
	}
	stream := StreamInfo{Name: "a/b", Problem: long, Source: long}
	messages := []*Message{
		{Type: TypeReject, Reject: &Refusal{Reason: ReasonLimit, Text: long, Known: known, Rejected: []Rejected{{BackendSHM, ReasonPolicy, long}}}},
		{Type: TypeEvict, Evict: &Refusal{Reason: ReasonLimit, Text: long}},
		{Type: TypeProbe, Probe: &Probe{Reason: ReasonPolicy, Detail: long}},
		{Type: TypeBye, Bye: &Bye{Reason: long}},
		{Type: TypeReconfig, Reconfig: &Reconfig{Stream: stream}},
		{Type: TypeHello, Hello: &Hello{Protocol: Current(), Stream: "a/b", Accepts: []Backend{BackendCUDA}, DeviceReason: ReasonNoDriver, DeviceDetail: long}},
		{Type: TypeStreams, Streams: &StreamList{Protocol: Current(), Session: strings.Repeat("0", 32), Version: long, Streams: []StreamInfo{stream}}},
	}
	for _, m := range messages {
		before, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		packet, err := encode(m)
		if err != nil {
			t.Errorf("%s: %v", m.Type, err)
			continue
		}
		if strings.Contains(string(packet), `\n`) || !utf8.Valid(packet) || len(packet) > 4*maxText+maxKnown*8 {
			t.Errorf("%s: %d bytes, with line breaks or broken characters", m.Type, len(packet))
		}
		if after, _ := json.Marshal(m); string(after) != string(before) {
			t.Errorf("%s: the sender's message was changed", m.Type)
		}
	}
	if got := text(long); len(got) > maxText || !strings.HasSuffix(got, "…") {
		t.Errorf("long text is cut to %d bytes ending in %q", len(got), got[len(got)-4:])
	}
	if got, want := text("a\u202eb\u2066c\u200fd\u061ce\u2028f"), "abcde f"; got != want {
		t.Errorf("text with characters that turn its direction became %q, want %q", got, want)
	}
	if got := text("short"); got != "short" {
		t.Errorf("short text became %q", got)
	}
}

func TestStreamPages(t *testing.T) {
	for _, c := range []struct {
		name    string
		streams int
		problem int // bytes
		pages   int
	}{
		{"none", 0, 0, 1},
		{"one", 1, 0, 1},
		{"as many as robots have", 16, 500, 1},
		{"hundreds", 500, 900, 9},
		{"with overlong texts", 400, 5000, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := StreamList{Protocol: Current(), Session: strings.Repeat("0", 32), PID: 1}
			for i := range c.streams {
				l.Streams = append(l.Streams, StreamInfo{Name: fmt.Sprintf("camera%d/color", i), Problem: strings.Repeat("p", c.problem)})
			}
			pages := StreamPages(l)
			if c.pages != 0 && len(pages) != c.pages {
				t.Errorf("%d pages, want %d", len(pages), c.pages)
			}
			next := 0
			for i, m := range pages {
				packet, err := encode(m)
				if err != nil {
					t.Fatal(err)
				}
				got, err := decode(packet)
				if err != nil {
					t.Fatal(err)
				}
				if got.Streams.More != (i < len(pages)-1) {
					t.Errorf("page %d of %d: more is %v", i, len(pages), got.Streams.More)
				}
				for _, s := range got.Streams.Streams {
					if want := fmt.Sprintf("camera%d/color", next); s.Name != want {
						t.Fatalf("stream %q where %q belongs", s.Name, want)
					}
					next++
				}
			}
			if next != c.streams {
				t.Errorf("%d streams on all pages, want %d", next, c.streams)
			}
		})
	}
}

// A stream that no message may carry is left out of the list, and the others
// stay.
func TestStreamPagesWithoutTheWrongOnes(t *testing.T) {
	l := StreamList{Protocol: Current(), Session: strings.Repeat("0", 32), PID: 1, Streams: []StreamInfo{
		{Name: "a/color"},
		{Name: "b/color", Topic: "/" + strings.Repeat("t", maxTopic)},
		{Name: "", Topic: "/t"},
		{Name: "c/color", Domain: -1},
		{Name: "d/color", Topic: "/d/color/image_raw"},
	}}
	pages := StreamPages(l)
	packet, err := encode(pages[0])
	if err != nil || len(pages) != 1 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	got, err := decode(packet)
	if err != nil {
		t.Fatal(err)
	}
	if s := got.Streams.Streams; len(s) != 2 || s[0].Name != "a/color" || s[1].Name != "d/color" {
		t.Errorf("%+v", s)
	}
}

func TestVersion(t *testing.T) {
	for _, c := range []struct {
		p    Protocol
		want error
	}{
		{Current(), nil},
		{Protocol{Major: Major, Minor: Minor + 7}, nil},
		{Protocol{Major: Major + 1}, ErrVersion},
		{Protocol{}, ErrVersion},
	} {
		if err := c.p.Check(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.p, err, c.want)
		}
	}
}

// What decodes must be sendable again and mean the same: nothing that passed
// the checks once is refused by the next daemon on the way.
func FuzzDecode(f *testing.F) {
	seeds, err := filepath.Glob("testdata/messages/*.json")
	if err != nil || len(seeds) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, path := range seeds {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, s := range []string{``, `{}`, `null`, `{"type":"later","x":[{}]}`, `{"type":"status","status":null}`, `{"TYPE":"kick"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decode(b)
		if err != nil {
			if m != nil || !errors.Is(err, ErrProtocol) {
				t.Fatalf("got %v, %v", m, err)
			}
			return
		}
		packet, err := encode(m)
		if err != nil {
			if len(b) > MaxPacket/8 { // escapes make it longer
				return
			}
			t.Fatalf("%s decodes, but: %v", b, err)
		}
		again, err := decode(packet)
		if err != nil {
			t.Fatalf("%s decodes, but not its encoding %s: %v", b, packet, err)
		}
		repeated, err := encode(again)
		if err != nil || string(repeated) != string(packet) {
			t.Fatalf("%s encodes as %s first, then %s (%v)", b, packet, repeated, err)
		}
	})
}
