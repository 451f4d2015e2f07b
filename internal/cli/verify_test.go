// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
)

// rows fills a frame with the number at the start of every row, as the pattern
// of style "rows" does.
func rows(f *fakeFrame, number uint64) {
	p := f.geometry.Plane(0)
	for y := range p.Rows {
		binary.LittleEndian.PutUint64(f.data[y*p.Step:], number)
	}
}

func TestVerify(t *testing.T) {
	patterned := func(n int, f *fakeFrame) {
		f.meta.Flags, f.meta.DriverSequence = frame.Pattern, uint64(n+1)
		rows(f, uint64(n+1))
	}
	for name, tc := range map[string]struct {
		change func(n int, f *fakeFrame) // before take
		alter  func(f *fakeFrame)        // while the second frame is held
		want   verifyResult
	}{
		"plain":         {nil, nil, verifyResult{Frames: 4}},
		"plain altered": {nil, func(f *fakeFrame) { f.data[77]++ }, verifyResult{Frames: 4, Torn: 1}},
		"pattern":       {patterned, nil, verifyResult{Frames: 4}},
		"pattern overwritten by a later frame": {
			patterned, func(f *fakeFrame) { rows(f, 9) },
			verifyResult{Frames: 4, Torn: 1},
		},
		"pattern half overwritten": {
			patterned, func(f *fakeFrame) { binary.LittleEndian.PutUint64(f.data[f.geometry.Step*20:], 9) },
			verifyResult{Frames: 4, Torn: 1},
		},
		"pattern of another frame at take": {
			func(n int, f *fakeFrame) { patterned(n, f); f.meta.DriverSequence += uint64(n / 3) }, nil,
			verifyResult{Frames: 4, Torn: 1},
		},
		"overwritten, and the ring says so": {
			nil, func(f *fakeFrame) { f.data[0]++; f.valid = client.ErrStaleFrame },
			verifyResult{Frames: 4, Stale: 1},
		},
		"stale at take counts once": {
			func(n int, f *fakeFrame) {
				if n == 1 {
					f.valid = client.ErrStaleFrame
				}
			}, nil,
			verifyResult{Frames: 4, Stale: 1},
		},
		"not valid for another reason": {
			func(n int, f *fakeFrame) {
				if n == 1 {
					f.valid = client.ErrReleased
				}
			}, nil,
			verifyResult{Frames: 4, Torn: 1},
		},
		"pattern too narrow for numbers": {
			func(n int, f *fakeFrame) {
				f.geometry = geometry(t, frame.Mono8, 4, 4)
				f.data = f.data[:16]
				f.meta.Flags = frame.Pattern
			}, func(f *fakeFrame) { f.data[3]++ },
			verifyResult{Frames: 4, Torn: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var v verifier
			for n := range 4 {
				s := newFake(t)
				f := &fakeFrame{stream: s, n: n, geometry: s.info.Geometry, data: make([]byte, s.info.Geometry.Size())}
				if tc.change != nil {
					tc.change(n, f)
				}
				v.take(f)
				if n == 1 && tc.alter != nil {
					tc.alter(f)
				}
				v.release(f)
			}
			if got := v.result(); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if len(v.held) != 0 {
				t.Errorf("%d frames are remembered after their release", len(v.held))
			}
		})
	}
}

func TestVerifyDecidesTheExitCode(t *testing.T) {
	s := newFake(t)
	s.missed = 3
	s.change = func(n int, f *fakeFrame) {
		if n == 4 {
			f.valid = client.ErrStaleFrame
		}
	}
	code, _, stderr := s.run(t, "hz", "test/color", "--count", "10", "--verify")
	if code != ExitFailure {
		t.Errorf("exit %d", code)
	}
	want := noteOfPath + "camsub: verified 10 frames: 0 torn, 1 stale, 3 gaps\n" +
		"camsub: bad frames: 0 torn and 1 stale of 10 verified\n"
	if stderr != want {
		t.Errorf("got %q, want %q", stderr, want)
	}
}

func TestVerifyWhatIsHeldForever(t *testing.T) {
	code, _, stderr := newFake(t).run(t, "hz", "test/color", "--hold", "forever", "--verify", "--duration", "1s")
	if code != 0 || !strings.HasSuffix(stderr, "camsub: verified 2 frames: 0 torn, 0 stale, 0 gaps\n") {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}

func TestVerifyDoesNotAllocate(t *testing.T) {
	s := newFake(t)
	f := &fakeFrame{stream: s, geometry: s.info.Geometry, data: make([]byte, s.info.Geometry.Size())}
	f.meta = frame.Meta{Flags: frame.Pattern, DriverSequence: 5}
	rows(f, 5)
	var v verifier
	if n := testing.AllocsPerRun(100, func() { v.take(f); v.release(f) }); n != 0 {
		t.Errorf("%v allocations per frame", n)
	}
	if got := v.result(); got.Torn != 0 || got.Frames != 101 {
		t.Errorf("got %+v", got)
	}
}
