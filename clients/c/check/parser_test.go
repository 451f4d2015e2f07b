// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// golden are the messages of the protocol as files have them.
func golden(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("../../../negotiate/testdata/messages/*.json")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d golden messages, %v", len(names), err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(name), ".json")] = b
	}
	return all
}

// packets is a running selftest that reads packets.
type packets struct {
	t    testing.TB
	in   io.WriteCloser
	out  *bufio.Reader
	err  text
	cmd  *exec.Cmd
	last []byte
}

func newPackets(t testing.TB) *packets {
	t.Helper()
	p := &packets{t: t, cmd: exec.Command(programs(t).selftest, "parse")}
	p.cmd.Stderr = &p.err
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReaderSize(out, 1<<16)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.in.Close()
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("the parser ended with %v after %q\n%s", err, p.last, p.err.String())
		}
	})
	return p
}

// read has a packet parsed: whether it is JSON, and the message, which is "bad
// WHY" for what is none.
func (p *packets) read(packet []byte) (isJSON bool, message string) {
	p.t.Helper()
	p.last = packet
	head := binary.BigEndian.AppendUint32(nil, uint32(len(packet)))
	if _, err := p.in.Write(append(head, packet...)); err != nil {
		p.t.Fatalf("%v after %q", err, packet)
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%v after %q", err, packet)
	}
	return line[0] == '1', strings.TrimSuffix(line[2:], "\n")
}

// described is what the client should make of a message.
func described(m *negotiate.Message) string {
	ring := func(s negotiate.StreamInfo, l negotiate.Layout, d *negotiate.Device) string {
		g := s.Geometry
		text := fmt.Sprintf(" %dx%d %s step %d | %d slots header %d stride %d pixels %d page %d epoch %d", g.Width, g.Height, g.Encoding, g.Step,
			l.Slots, l.HeaderBytes, l.StrideBytes, l.PixelBytes, l.PageBytes, l.Epoch)
		if d != nil {
			text += fmt.Sprintf(" | %s %s %d %d", d.UUID, d.Handle, d.Bytes, d.ProbeOffset)
		}
		return text
	}
	switch {
	case m.Offer != nil:
		o := m.Offer
		reason, detail := "", ""
		for _, r := range o.Rejected {
			reason, detail = string(r.Reason), fmt.Sprintf("not %s: %s (%s)", r.Backend, r.Reason, r.Detail)
		}
		return fmt.Sprintf("offer %s %s %s%s | %s %s", o.Session, o.Backend, o.Challenge, ring(o.Stream, o.Layout, o.Device), reason, detail)
	case m.Reconfig != nil:
		return fmt.Sprintf("reconfig %d%s", m.Reconfig.Reader, ring(m.Reconfig.Stream, m.Reconfig.Layout, m.Reconfig.Device))
	case m.Start != nil:
		return fmt.Sprintf("start %d %d", m.Start.Reader, m.Start.Credit)
	case m.Evict != nil:
		return fmt.Sprintf("evict %s | %s", m.Evict.Reason, m.Evict.Text)
	case m.Reject != nil:
		return fmt.Sprintf("reject %s | %s", m.Reject.Reason, m.Reject.Text)
	case m.Type == negotiate.TypeBye:
		reason := ""
		if m.Bye != nil {
			reason = m.Bye.Reason
		}
		if !regexp.MustCompile("^[a-z0-9_]+$").MatchString(reason) {
			reason += " | ended"
		}
		return "bye " + reason
	}
	return "other"
}

func TestGoldenMessages(t *testing.T) {
	p := newPackets(t)
	for name, packet := range golden(t) {
		var m negotiate.Message
		if err := json.Unmarshal(packet, &m); err != nil {
			t.Fatal(err)
		}
		var small bytes.Buffer
		if err := json.Compact(&small, packet); err != nil {
			t.Fatal(err)
		}
		for _, as := range [][]byte{packet, small.Bytes()} {
			if ok, got := p.read(as); !ok || strings.TrimSpace(got) != strings.TrimSpace(described(&m)) {
				t.Errorf("%s: JSON %v\n got %q\nwant %q", name, ok, got, described(&m))
			}
		}
	}
}

// jsonDepth is how deep the client's parser follows.
const jsonDepth = 32

// depth is how deep lists and objects lie in each other.
func depth(b []byte) int {
	deepest, now, inside := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch {
		case inside && b[i] == '\\':
			i++
		case b[i] == '"':
			inside = !inside
		case inside:
		case b[i] == '{' || b[i] == '[':
			now++
			deepest = max(deepest, now)
		case b[i] == '}' || b[i] == ']':
			now--
		}
	}
	return deepest
}

// mutate changes a packet here and there.
func mutate(r *rand.Rand, packets [][]byte) []byte {
	tokens := []string{
		`"`, `\`, `\u0000`, `\ud83d\ude00`, `\ud800`, `{`, `}`, `[`, `]`, `,`, `:`, `null`, `true`, `-`, `0`, `1e9`, `18446744073709551616`,
		"9223372036854775808", "-1", `""`, "\x00", "\x7f", "\xff", "\xc3\xa9", "\xed\xa0\x80", "\xf0\x9f\x98\x80", " ", "\n", `"type":"offer",`, strings.Repeat("[", 40),
	}
	b := bytes.Clone(packets[r.IntN(len(packets))])
	for range 1 + r.IntN(4) {
		if len(b) == 0 {
			return b
		}
		at := r.IntN(len(b))
		switch r.IntN(6) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b = b[:at]
		case 2:
			b = append(b[:at:at], b[min(at+1+r.IntN(16), len(b)):]...)
		case 3:
			token := tokens[r.IntN(len(tokens))]
			b = append(b[:at:at], append([]byte(token), b[at:]...)...)
		case 4: // a piece of another one
			other := packets[r.IntN(len(packets))]
			from := r.IntN(len(other))
			b = append(b[:at:at], append(bytes.Clone(other[from:min(from+r.IntN(64), len(other))]), b[at:]...)...)
		case 5: // a digit
			for range 20 {
				if i := r.IntN(len(b)); b[i] >= '0' && b[i] <= '9' {
					b[i] = byte('0' + r.IntN(10))
					break
				}
			}
		}
	}
	return b
}

// The parser takes exactly what is JSON in UTF-8 and not nested too deep,
// whatever comes, and reads no byte beyond it.
func TestRandomPackets(t *testing.T) {
	p := newPackets(t)
	var whole [][]byte
	for _, b := range golden(t) {
		var small bytes.Buffer
		if err := json.Compact(&small, b); err != nil {
			t.Fatal(err)
		}
		whole = append(whole, small.Bytes())
	}
	slices.SortFunc(whole, bytes.Compare) // a map has no order
	r := rand.New(rand.NewPCG(7, 1))
	rounds := 5_000
	if soak {
		rounds *= 20
	}
	accepted, messages := 0, 0
	for range rounds {
		b := mutate(r, whole)
		got, message := p.read(b)
		if want := json.Valid(b) && utf8.Valid(b) && depth(b) <= jsonDepth; got != want {
			t.Fatalf("JSON %v, want %v: %q", got, want, b)
		}
		if got {
			accepted++
		}
		if !strings.HasPrefix(message, "bad ") {
			messages++
			if !got {
				t.Fatalf("%q out of %q", message, b)
			}
		}
	}
	if accepted < rounds/50 || messages < rounds/100 || accepted == rounds {
		t.Errorf("%d of %d packets are JSON, %d messages: the mutations say little", accepted, rounds, messages)
	}
}

func TestDepthIsBounded(t *testing.T) {
	p := newPackets(t)
	for _, deep := range []int{1, jsonDepth, jsonDepth + 1, 20_000} {
		packet := strings.Repeat(`[`, deep) + "1" + strings.Repeat(`]`, deep)
		if got, _ := p.read([]byte(packet)); got != (deep <= jsonDepth) {
			t.Errorf("%d lists in each other: JSON %v", deep, got)
		}
	}
}

func TestMessagesThatAreNone(t *testing.T) {
	p := newPackets(t)
	long := strings.Repeat("a camera that was taken away, ", 8)
	offer := string(golden(t)["offer"])
	change := func(from, to string) string {
		if !strings.Contains(offer, from) {
			t.Fatalf("no %q in the golden offer", from)
		}
		return strings.Replace(offer, from, to, 1)
	}
	for packet, want := range map[string]string{
		``:                                    "not a JSON object",
		`[1]`:                                 "not a JSON object",
		`{}`:                                  "no type",
		`{"type":5}`:                          "type is no string",
		`{"type":"offer"}`:                    "without its member",
		`{"type":"offer","offer":[]}`:         "is no object",
		`{"type":"bye","start":{"credit":1}}`: "with member start",
		`{"type":"start","start":{}}`:         "credit 0",
		`{"type":"start","start":{"credit":1,"credit":2}}`:                 "two members credit",
		`{"type":"start","start":{"credit":1.0}}`:                          "no whole number",
		`{"type":"start","start":{"credit":1e0}}`:                          "no whole number",
		`{"type":"start","start":{"credit":"1"}}`:                          "no whole number",
		`{"type":"reject","reject":{"text":"x"}}`:                          "no reason",
		`{"type":"reject","reject":{"reason":"a\nb"}}`:                     "cannot be printed",
		change(`"slots": 28`, `"slots": 255`):                              "slots 255",
		change(`"slots": 28`, `"slots": 27`):                               "pixel bytes for 27 slots",
		change(`"version": 1`, `"version": 2`):                             "layout version 2",
		change(`"header_bytes": 4096`, `"header_bytes": 1024`):             "header_bytes 1024",
		change(`"page_bytes": 4096`, `"page_bytes": -4096`):                "page_bytes -4096",
		change(`"stride_bytes": 3686400`, `"stride_bytes": 1099511627776`): "stride_bytes",
		change(`"width": 1280`, `"width": 100000`):                         "width 100000",
		change(`"step": 5120`, `"step": 5119`):                             "with step 5119",
		change(`"step": 5120`, `"step": 10240`):                            "in slots of",
		change(`"encoding": "bgra8"`, `"encoding": "bgra9"`):               "unknown encoding",
		change(`"session": "0f`, `"session": "0x`):                         "not hexadecimal",
		change(`"session": "0f`, `"session": "`):                           "hexadecimal digits",
		change(`"epoch": 3
    }`, `"epoch": 99999999999999999999}`): "64 bits",
	} {
		if _, got := p.read([]byte(packet)); !strings.HasPrefix(got, "bad ") || !strings.Contains(got, want) {
			t.Errorf("%.80s\n got %q\nwant %q", packet, got, want)
		}
	}
	for packet, want := range map[string]string{
		`{"type":"later","offer":7}`:                                                       "unknown",
		change(`"major": 1`, `"major": 2`):                                                 "offer of version 2",
		`{"type":"bye","bye":null}`:                                                        "bye  | ended",
		`{"type":"bye","bye":{"reason":"\u00e9\ud83d\ude00\/\ud800"}}`:                     "bye é😀/\uFFFD | ended",
		`{"type":"bye","bye":{"reason":"` + long + `"}}`:                                   "bye " + long + " | ended",
		` {"x":{"type":[{}]},"type":"start","start":{"later":{"credit":[1]},"credit":2}} `: "start 0 2",
	} {
		if _, got := p.read([]byte(packet)); got != want {
			t.Errorf("%.80s\n got %q\nwant %q", packet, got, want)
		}
	}
}
