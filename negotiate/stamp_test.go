// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
)

func TestHeaderNanos(t *testing.T) {
	full := frame.Meta{CaptureNanos: 100, WallNanos: 5000, ReadyNanos: 130, PublishNanos: 140}
	bare, early := full, full
	bare.PublishNanos = 0
	early.WallNanos = 0
	for _, c := range []struct {
		name  string
		stamp Stamp
		meta  frame.Meta
		want  int64
	}{
		{"not said", "", full, 5000},
		{"capture", StampCapture, full, 5000},
		{"publish", StampPublish, full, 5040},
		{"of a later version", "exposure", full, 5000},
		{"publish, not known", StampPublish, bare, 5000},
		{"no wall time", StampPublish, early, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.stamp.HeaderNanos(&c.meta); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func TestStreamInfoIsBounded(t *testing.T) {
	for name, change := range map[string]func(*StreamInfo){
		"long frame id":     func(i *StreamInfo) { i.FrameID = strings.Repeat("x", MaxName+1) },
		"unprintable id":    func(i *StreamInfo) { i.FrameID = "a\x1b[2J" },
		"long stamp":        func(i *StreamInfo) { i.Stamp = Stamp(strings.Repeat("x", maxWord+1)) },
		"long matrix":       func(i *StreamInfo) { i.Color.Matrix = frame.Matrix(strings.Repeat("x", maxWord+1)) },
		"unprintable range": func(i *StreamInfo) { i.Color.Range = "\n" },
	} {
		t.Run(name, func(t *testing.T) {
			info := StreamInfo{Name: "a/color"}
			if err := info.validate(); err != nil {
				t.Fatal(err)
			}
			if change(&info); info.validate() == nil {
				t.Errorf("accepted: %+v", info)
			}
		})
	}
}
