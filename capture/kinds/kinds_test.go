// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/capture"
)

func TestNew(t *testing.T) {
	for _, c := range []struct{ text, describe, refused string }{
		{"a=pattern,64x48@0", "pattern", ""},
		{"a=replay:/films/walk.avi,loop=true", "replay walk.avi", ""},
		{"a=v4l2:/dev/video0,1280x720@30", "v4l2 /dev/video0", ""},
		{"a=patern", "", `camera a: invalid camera options: unknown kind "patern" (known are pattern, replay, v4l2); did you mean pattern?`},
		{"a=webcam", "", `unknown kind "webcam" (known are pattern, replay, v4l2)`},
		{"a=pattern,lop=1", "", `kind pattern has no option "lop"`},
		{"a=replay", "", "needs a file or URL"},
		{"a=v4l2,pace=fast", "", `kind v4l2 has no option "pace"`},
	} {
		t.Run(c.text, func(t *testing.T) {
			spec, err := capture.ParseSpec(c.text)
			if err != nil {
				t.Fatal(err)
			}
			src, err := New(spec)
			if c.refused != "" {
				if !errors.Is(err, capture.ErrConfig) || !strings.Contains(err.Error(), c.refused) || src != nil {
					t.Fatalf("%v, %v; want %q", src, err, c.refused)
				}
				return
			}
			if err != nil || src.Describe() != c.describe {
				t.Fatalf("%v, %v; want %q", src, err, c.describe)
			}
		})
	}
}

func TestEveryKindIsBuilt(t *testing.T) {
	for _, k := range Names() {
		if _, err := New(capture.Spec{Name: "a", Kind: k, Target: map[string]string{"replay": "x"}[k]}); err != nil {
			t.Errorf("%s: %v", k, err)
		}
	}
}
