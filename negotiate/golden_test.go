// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-3c7e7623/camd/frame"
)

var update = flag.Bool("update", false, "write the golden files anew")

func goldenMessages() map[string]*Message {
	geometry := frame.Geometry{Width: 1280, Height: 720, Encoding: frame.BGRA8, Step: 5120}
	stream := StreamInfo{
		Name: "test/color", Camera: "test", Source: "pattern", State: "running", StateSince: 1700000000123,
		Geometry: geometry, IntervalNS: 16666667, Clock: "monotonic", Epoch: 3, Subscribed: 2, Host: "robot",
	}
	described := stream
	described.Geometry = frame.Geometry{Width: 640, Height: 480, Encoding: frame.YUV422YUY2, Step: 1280}
	described.Color = frame.Color{Matrix: frame.BT709, Range: frame.Full}
	described.Stamp, described.FrameID = StampPublish, "test_optical_frame"
	waiting := StreamInfo{Name: "front/color", Camera: "front", Source: "v4l2 /dev/video0", State: "lost", Problem: "no such device"}
	layout := Layout{
		Version: 1, Slots: 28, HeaderBytes: 4096, StrideBytes: 3686400, PixelBytes: 103219200, PageBytes: 4096, Epoch: 3,
	}
	const uuid = "GPU-6f1c2a3b-0d4e-5f60-7182-93a4b5c6d7e8"
	device := &Device{UUID: uuid, Handle: HandleVMM, Bytes: 104857600, ProbeOffset: 104853504}
	rejected := []Rejected{{BackendCUDA, ReasonNoDriver, "libcuda.so.1 not found"}}
	protocol := Protocol{Major: 1, Minor: 0, Features: []string{"pipe"}}
	session := strings.Repeat("0f", 16)
	return map[string]*Message{
		"hello": {Type: TypeHello, Hello: &Hello{
			Protocol: protocol, Stream: "test/color", Accepts: []Backend{BackendCUDA, BackendSHM}, Require: BackendSHM,
			Wake: WakePipe, Credit: 2, Client: "camsub", BootID: "7f3d4b86-5f2e-4f6e-9c5a-2f1f0a3b4c5d",
		}},
		"hello-least": {Type: TypeHello, Hello: &Hello{
			Protocol: Protocol{Major: 1}, Stream: "test/color", Accepts: []Backend{BackendSHM},
		}},
		"offer": {Type: TypeOffer, Offer: &Offer{
			Protocol: protocol, Session: session, Backend: BackendSHM, Rejected: rejected, Stream: stream, Layout: layout,
			Challenge: strings.Repeat("c0", 32),
		}},
		"hello-cuda": {Type: TypeHello, Hello: &Hello{
			Protocol: Protocol{Major: 1, Minor: 1}, Stream: "test/color", Accepts: []Backend{BackendCUDA, BackendSHM},
			GPUs: []GPU{{uuid, "NVIDIA H200"}}, Handles: []HandleKind{HandleVMM}, Driver: 13000, PIDNamespace: 4026531836,
		}},
		"hello-no-driver": {Type: TypeHello, Hello: &Hello{
			Protocol: Protocol{Major: 1, Minor: 1}, Stream: "test/color", Accepts: []Backend{BackendCUDA, BackendSHM},
			DeviceReason: ReasonNoDriver, DeviceDetail: "libcuda.so.1 not found",
		}},
		"offer-cuda": {Type: TypeOffer, Offer: &Offer{
			Protocol: Protocol{Major: 1, Minor: 1}, Session: session, Backend: BackendCUDA, Stream: stream, Layout: layout,
			Challenge: strings.Repeat("c0", 32), Device: device,
		}},
		"reconfig-cuda":      {Type: TypeReconfig, Reconfig: &Reconfig{Stream: stream, Layout: layout, Reader: 4, Device: device}},
		"probe":              {Type: TypeProbe, Probe: &Probe{OK: true, Proof: Proof(strings.Repeat("c0", 32), make([]byte, ProbeBytes))}},
		"probe-failed":       {Type: TypeProbe, Probe: &Probe{Reason: ReasonProbeMismatch, Detail: "mmap: operation not permitted"}},
		"start":              {Type: TypeStart, Start: &Start{Reader: 4, Credit: 2}},
		"reconfig":           {Type: TypeReconfig, Reconfig: &Reconfig{Stream: stream, Layout: layout, Reader: 4}},
		"reconfig-described": {Type: TypeReconfig, Reconfig: &Reconfig{Stream: described, Layout: layout, Reader: 4}},
		"ack":                {Type: TypeAck, Ack: &Ack{Epoch: 3}},
		"kick":               {Type: TypeKick},
		"evict":              {Type: TypeEvict, Evict: &Refusal{Reason: ReasonTooSlow, Text: "held a frame for 2.1 s while slots were needed"}},
		"reject": {Type: TypeReject, Reject: &Refusal{
			Reason: ReasonUnknownStream, Text: `no stream "tset/color"`, Rejected: rejected, Known: []string{"front/color", "test/color"},
		}},
		"bye":         {Type: TypeBye, Bye: &Bye{Reason: "shutdown"}},
		"bye-least":   {Type: TypeBye},
		"list":        {Type: TypeList, List: &List{}},
		"streams":     {Type: TypeStreams, Streams: &StreamList{Protocol: protocol, Session: session, PID: 4711, Version: "v0.1.0", Streams: []StreamInfo{waiting, stream}, More: true}},
		"status-ask":  {Type: TypeStatus},
		"status-tell": {Type: TypeStatus, Status: json.RawMessage(`{"cameras":[]}`)},
	}
}

// The files under testdata/messages are the protocol: a change of one breaks
// installed programs, unless it only adds.
func TestGolden(t *testing.T) {
	seen := map[Type]bool{}
	for name, m := range goldenMessages() {
		seen[m.Type] = true
		t.Run(name, func(t *testing.T) {
			packet, err := encode(m)
			if err != nil {
				t.Fatal(err)
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, packet, "", "  "); err != nil {
				t.Fatal(err)
			}
			pretty.WriteByte('\n')
			path := filepath.Join("testdata", "messages", name+".json")
			if *update {
				if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			golden, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(golden), pretty.String()); diff != "" {
				t.Errorf("encoded (-golden +got):\n%s", diff)
			}
			back, err := decode(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(m, back, cmp.Transformer("text", func(r json.RawMessage) string {
				var b bytes.Buffer
				_ = json.Compact(&b, r)
				return b.String()
			})); diff != "" {
				t.Errorf("decoded (-sent +got):\n%s", diff)
			}
		})
	}
	for _, typ := range knownTypes {
		if !seen[typ] {
			t.Errorf("no golden file for %q", typ)
		}
	}
}

func TestKickPacketIsTheEncoding(t *testing.T) {
	packet, err := encode(&Message{Type: TypeKick})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(packet, kickPacket) {
		t.Errorf("a kick encodes as %s, sent is %s", packet, kickPacket)
	}
}
