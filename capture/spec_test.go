// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSpec(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Spec
		canonical  string // "" = text
	}{
		{"kind only", "test=pattern", Spec{Name: "test", Kind: "pattern"}, ""},
		{"everything", "front=v4l2:/dev/video0,1280x720@30,control.gain=40,encoding=rgb8", Spec{"front", "v4l2", "/dev/video0", 1280, 720, 30, map[string]string{"encoding": "rgb8", "control.gain": "40"}}, ""},
		{"size alone", "a=pattern,8x1", Spec{Name: "a", Kind: "pattern", Width: 8, Height: 1}, ""},
		{"rate alone", "a=pattern,@29.97", Spec{Name: "a", Kind: "pattern", Rate: 29.97}, ""},
		{"rate as a key", "a=pattern,rate=60", Spec{Name: "a", Kind: "pattern", Rate: 60}, "a=pattern,@60"},
		{"rate zero", "a=pattern,64x48@0", Spec{Name: "a", Kind: "pattern", Width: 64, Height: 48, Options: map[string]string{"rate": "0"}}, "a=pattern,64x48,rate=0"},
		{"size last", "a=pattern,seed=1,64x48", Spec{Name: "a", Kind: "pattern", Width: 64, Height: 48, Options: map[string]string{"seed": "1"}}, "a=pattern,64x48,seed=1"},
		{"URL", "a=replay:rtsp://u:p@h:554/x?y=1&z=2,loop=true", Spec{Name: "a", Kind: "replay", Target: "rtsp://u:p@h:554/x?y=1&z=2", Options: map[string]string{"loop": "true"}}, ""},
		{"comma and backslash in the target", `a=replay:x\,y\\z.avi,loop=true`, Spec{Name: "a", Kind: "replay", Target: `x,y\z.avi`, Options: map[string]string{"loop": "true"}}, ""},
		{"comma in a value", `a=replay:x,input.headers=a\,b`, Spec{Name: "a", Kind: "replay", Target: "x", Options: map[string]string{"input.headers": "a,b"}}, ""},
		{"equals sign in a value", "a=replay:x,k=a=b", Spec{Name: "a", Kind: "replay", Target: "x", Options: map[string]string{"k": "a=b"}}, ""},
		{"empty value", "a=replay:x,k=", Spec{Name: "a", Kind: "replay", Target: "x", Options: map[string]string{"k": ""}}, ""},
		{"empty target", "a=replay:", Spec{Name: "a", Kind: "replay"}, "a=replay"},
		{"target like a size", "a=replay:640x480", Spec{Name: "a", Kind: "replay", Target: "640x480"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseSpec(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Fatalf("(-want +got)\n%s", d)
			}
			want := c.canonical
			if want == "" {
				want = c.text
			}
			if got.String() != want {
				t.Errorf("String is %q, want %q", got.String(), want)
			}
		})
	}
}

func TestParseSpecRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"nothing", "", "NAME=KIND"},
		{"no kind", "front", "NAME=KIND"},
		{"empty kind", "front=", `kind ""`},
		{"kind with a slash", "front=/dev/video0", "kind"},
		{"empty name", "=pattern", "name"},
		{"upper case name", "Front=pattern", `name "Front"`},
		{"name with a slash", "a/b=pattern", "name"},
		{"long name", strings.Repeat("a", 65) + "=pattern", "name"},
		{"size of zero", "a=pattern,0x5", `"0x5"`},
		{"size too large", "a=pattern,65537x5", `"65537x5"`},
		{"negative size", "a=pattern,-4x5", `"-4x5"`},
		{"half a size", "a=pattern,640x", `"640x"`},
		{"neither size nor option", "a=pattern,loop", `"loop"`},
		{"size twice", "a=pattern,4x4,5x5", "twice"},
		{"rate twice", "a=pattern,@4,rate=5", "rate given twice"},
		{"rate twice, zero", "a=pattern,@0,rate=5", "rate given twice"},
		{"negative rate", "a=pattern,@-1", `rate "-1"`},
		{"rate not a number", "a=pattern,4x4@NaN", `rate "NaN"`},
		{"endless rate", "a=pattern,4x4@Inf", `rate "Inf"`},
		{"no rate", "a=pattern,4x4@", `rate ""`},
		{"key twice", "a=pattern,seed=1,seed=1", "seed given twice"},
		{"empty part", "a=pattern,,seed=1", `""`},
		{"bad key", "a=pattern,see d=1", `"see d"`},
		{"lonely backslash", `a=replay:C:\x`, "backslash"},
		{"backslash at the end", `a=replay:x\`, "backslash"},
		{"control character", "a=replay:x\n", "byte 10"},
		{"broken UTF-8", "a=replay:\xff", "byte 9"},
		{"endless", "a=replay:" + strings.Repeat("x", 9000), "9009 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseSpec(c.text)
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 1000 {
				t.Fatalf("%+v, %v; want %v that says %s", got, err, ErrConfig, c.says)
			}
		})
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, s := range []string{"a=pattern", `front=v4l2:/dev/video0,1280x720@30,encoding=rgb8`, `a=replay:x\,y\\z,@1e3,loop=true`, "a=pattern,rate=0,8x8"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSpec(text)
		if err != nil {
			if !errors.Is(err, ErrConfig) {
				t.Fatalf("%v is not %v", err, ErrConfig)
			}
			return
		}
		again, err := ParseSpec(s.String())
		if err != nil {
			t.Fatalf("%q became %q: %v", text, s, err)
		}
		if !maps.Equal(s.Options, again.Options) {
			t.Fatalf("options %v became %v", s.Options, again.Options)
		}
		s.Options, again.Options = nil, nil
		if !cmp.Equal(s, again) {
			t.Fatalf("%+v became %+v", s, again)
		}
	})
}
