// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/capture"
)

func TestOptions(t *testing.T) {
	for _, c := range []struct{ text, refused string }{
		{"", ""},
		{"/dev/video0,1280x720@30,encoding=rgb8,strict=true,memory=mmap,buffers=8,input=hdmi_1,control.gain=40", ""},
		{"/dev/v4l/by-id/usb-a_b-video-index0", ""},
		{",encoding=yuvy", "encoding"},
		{",memory=dma", "one of auto, userptr, mmap"},
		{",buffers=1", "from 2 to 32"},
		{",strict=maybe", "true or false"},
		{",contol.gain=1", "contol.gain"},
	} {
		t.Run(c.text, func(t *testing.T) {
			spec, err := capture.ParseSpec("cam=v4l2:" + c.text)
			if err != nil {
				t.Fatal(err)
			}
			s, err := New(spec)
			if c.refused == "" {
				if err != nil || s.Describe() != strings.TrimSpace("v4l2 "+spec.Target) {
					t.Errorf("%v, %v", s, err)
				}
				return
			}
			if !errors.Is(err, capture.ErrConfig) || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%v; want %v that says %q", err, capture.ErrConfig, c.refused)
			}
		})
	}
}
