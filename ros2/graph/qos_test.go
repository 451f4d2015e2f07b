// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"errors"
	"testing"
	"time"
)

func TestQoSTexts(t *testing.T) {
	for _, tc := range []struct {
		name, text, words string
		qos               QoS
	}{
		{"of client libraries", "::,10:,:,:,,", "reliable, volatile, keep last 10", ReliableDepth(10)},
		{"sensor data", "2::,5:,:,:,,", "best effort, volatile, keep last 5", SensorData()},
		{"RViz", "::,5:,:,:,,", "reliable, volatile, keep last 5", ReliableDepth(5)},
		{"the last one", "::,1:,:,:,,", "reliable, volatile, keep last 1", ReliableDepth(1)},
		{"latched", ":1:,1:,:,:,,", "reliable, transient local, keep last 1", Latched()},
		{"parameter events", "::,1000:,:,:,,", "reliable, volatile, keep last 1000", ReliableDepth(1000)},
		{
			"rosout", ":1:,1000:,:10,0:,,", "reliable, transient local, keep last 1000, lifespan 10s",
			QoS{Durability: TransientLocal, Depth: 1000, Lifespan: 10 * time.Second},
		},
		{"tf", "::,100:,:,:,,", "reliable, volatile, keep last 100", ReliableDepth(100)},
		{"zero", "::,:,:,:,,", "reliable, volatile, keep last 42", QoS{}},
		{"keep all", "::2,:,:,:,,", "reliable, volatile, keep all", QoS{History: KeepAll}},
		{"keep all with a depth", "::2,7:,:,:,,", "reliable, volatile, keep all", QoS{History: KeepAll, Depth: 7}},
		{
			"left to the system", "::,:,:,:,,", "reliable, volatile, keep last 42",
			QoS{Reliability: ReliabilityBestAvailable, Durability: DurabilityBestAvailable, Liveliness: LivelinessBest, History: HistoryUnknown},
		},
		{
			"bounded in time", "::,1:0,1000:1,:3,2,3", "reliable, volatile, keep last 1, deadline 1µs, lifespan 1.854775807s, lease 2.000000003s",
			QoS{Depth: 1, Deadline: time.Microsecond, Lifespan: time.Second + 854775807, Liveliness: ManualByTopic, Lease: 2*time.Second + 3},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.qos.String(); got != tc.text {
				t.Errorf("text %q, want %q", got, tc.text)
			}
			if got := tc.qos.Describe(); got != tc.words {
				t.Errorf("words %q, want %q", got, tc.words)
			}
			if got, err := ParseQoS(tc.text); err != nil || got != tc.qos.Resolved() {
				t.Errorf("back %+v, %v, want %+v", got, err, tc.qos.Resolved())
			}
		})
	}
}

func TestQoSTextsOfAllValues(t *testing.T) {
	for _, tc := range []struct {
		text string
		want QoS
	}{
		{"0:0:0,0:0,0:0,0:0,0,0", QoS{}},
		{
			"3:3:3,1:,5:5,:4,,", QoS{
				Reliability: ReliabilityUnknown, Durability: DurabilityUnknown, History: HistoryUnknown, Depth: 1,
				Deadline: 9223372036*time.Second + 5, Lifespan: 5*time.Second + 854775807, Liveliness: LivelinessUnknown, Lease: Infinite,
			},
		},
		{
			"4:4:2,2147483648:1,2:3,4:5,6,7", QoS{
				Reliability: ReliabilityBestAvailable, Durability: DurabilityBestAvailable, History: KeepAll, Depth: 1 << 31,
				Deadline: time.Second + 2, Lifespan: 3*time.Second + 4, Liveliness: LivelinessBest, Lease: 6*time.Second + 7,
			},
		},
		{"1:2:1,42:9223372036,854775807:9223372036,854775807:2,1,0", QoS{
			Reliable, Volatile, KeepLast, 42, Infinite, Infinite, ManualByNode, time.Second,
		}},
	} {
		if got, err := ParseQoS(tc.text); err != nil || got != tc.want {
			t.Errorf("%s is %+v, %v, want %+v", tc.text, got, err, tc.want)
		}
	}
	for _, text := range []string{
		"", ":::::", "::,:,:,:,", "::,:,:,:,,:", "::,:,:,:,,,", "::,,:,:,:,,", "::,:,,:,:,,", "5::,:,:,:,,", ":5:,:,:,:,,", "::4,:,:,:,,",
		"::,:,:,:6,,", "-1::,:,:,:,,", "+1::,:,:,:,,", " 1::,:,:,:,,", "x::,:,:,:,,", "::,18446744073709551616:,:,:,,", "::,9223372036854775808:,:,:,,",
		"::,:9223372037,0:,:,,", "::,:0,1000000000:,:,,", "::,:9223372036,854775808:,:,,", "١::,:,:,:,,",
	} {
		if q, err := ParseQoS(text); !errors.Is(err, ErrQoS) {
			t.Errorf("%q is %+v, %v", text, q, err)
		}
	}
}

// FuzzParseQoS holds that what is read is written in one form.
func FuzzParseQoS(f *testing.F) {
	for _, s := range []string{"2::,5:,:,:,,", "::2,:,:,:,,", ":1:,1000:,:10,0:,,", "0:0:0,0:0,0:0,0:0,0,0", "1:2:1,42:1,2:3,4:3,5,6", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := ParseQoS(s)
		if err != nil {
			return
		}
		text := q.String()
		again, err := ParseQoS(text)
		if err != nil || again != q.Resolved() || again.String() != text {
			t.Errorf("%q is written %q, read as %+v, %v, want %+v", s, text, again, err, q.Resolved())
		}
	})
}
