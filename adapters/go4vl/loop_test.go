// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package go4vl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vladimirvivien/go4vl/device"
	"github.com/vladimirvivien/go4vl/v4l2"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	camd "github.com/seed-3c7e7623/camd/capture/v4l2"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Errors as go4vl v0.5.0 makes them.
var (
	errDamaged  = errors.New("device: buffer error flag: index=1 flags=0x2040")
	errLate     = errors.New("device: frame dropped (consumer too slow): 16 bytes")
	errTerminal = fmt.Errorf("device: stream loop dequeue: %w", fmt.Errorf("buffer dequeue: %w", v4l2.ErrorSystem))
	errQueueing = fmt.Errorf("device: stream loop queue: %w: buff: %#v", fmt.Errorf("buffer queue: %w", v4l2.ErrorSystem), v4l2.Buffer{})
)

// fake is a device that is open.
type fake struct{ away bool }

func (f fake) name() string { return "/dev/video9" }
func (f fake) gone() bool   { return f.away }

var yuyv = v4l2.PixFormat{Width: 4, Height: 2, PixelFormat: v4l2.PixelFmtYUYV, Field: v4l2.FieldNone, BytesPerLine: 8, SizeImage: 16, Colorspace: 3}

// buffer is a frame as go4vl hands it out, stamped long ago.
func buffer(sequence uint32, bytes int) *device.Frame {
	data := make([]byte, bytes)
	for i := range data {
		data[i] = byte(sequence)
	}
	return &device.Frame{
		Data: data, Sequence: sequence, Flags: v4l2.BufFlagMapped | v4l2.BufFlagTimestampMonotonic,
		Timestamp: time.Unix(0, 1e6+int64(sequence)*1000),
	}
}

// bench is a loop on a sink, with nothing in its channels yet.
type bench struct {
	*loop
	sink   *capturetest.Sink
	frames chan *device.Frame
	errs   chan error
	got    []capturetest.Frame
}

func newBench(t testing.TB, slots int) *bench {
	t.Helper()
	g, err := read(yuyv)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{frames: make(chan *device.Frame, 64), errs: make(chan error, 64)}
	b.sink = &capturetest.Sink{Slots: slots, OnFrame: func(f capturetest.Frame) {
		f.Data = slices.Clone(f.Data)
		b.got = append(b.got, f)
	}}
	g.clock = frame.ClockMonotonic
	out, err := open(b.sink, g, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	b.loop = &loop{frames: b.frames, errs: b.errs, device: fake{}, out: out, clock: g.clock}
	return b
}

func (b *bench) close() {
	close(b.errs)
	close(b.frames)
}

func TestLosses(t *testing.T) {
	type drops map[capture.DropReason]int
	for _, c := range []struct {
		name      string
		sequences []uint32
		said      []error
		want      drops
	}{
		{"none", []uint32{7, 8, 9}, nil, drops{}},
		{"the device's", []uint32{10, 11, 14, 20}, nil, drops{capture.DropDevice: 7}},
		{"damaged", []uint32{1, 3}, []error{errDamaged}, drops{capture.DropDamaged: 1}},
		{"too late", []uint32{1, 3}, []error{errLate}, drops{capture.DropLate: 1}},
		{"each", []uint32{1, 6}, []error{errLate, errDamaged}, drops{capture.DropDamaged: 1, capture.DropLate: 1, capture.DropDevice: 2}},
		{"no frame came after it", []uint32{1, 2}, []error{errDamaged, errLate}, drops{capture.DropDamaged: 1, capture.DropLate: 1}},
		{"numbers repeat and step back", []uint32{5, 5, 4, 6, 7}, nil, drops{capture.DropDevice: 1}},
		{"numbers wrap", []uint32{math.MaxUint32, 1}, nil, drops{capture.DropDevice: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, 0)
			for _, err := range c.said {
				b.errs <- err
			}
			for _, n := range c.sequences {
				b.frames <- buffer(n, 16)
			}
			b.close()
			if err := b.run(t.Context()); !errors.Is(err, errSilent) {
				t.Errorf("%v, want %v", err, errSilent)
			}
			if len(b.got) != len(c.sequences) {
				t.Fatalf("%d frames of %d", len(b.got), len(c.sequences))
			}
			if got := drops(b.sink.Stats().Dropped); !maps.Equal(got, c.want) {
				t.Errorf("dropped %v, want %v", got, c.want)
			}
			for i, f := range b.got {
				n := c.sequences[i]
				want := capture.Stamp{DriverSequence: f.Stamp.DriverSequence, CaptureNanos: 1e6 + int64(n)*1000, CopiedBytes: 2 * 16, Copies: 2}
				if f.Stamp != want || f.Data[0] != byte(n) || f.Data[15] != byte(n) {
					t.Errorf("frame %d: %+v %v, want %+v", i, f.Stamp, f.Data, want)
				}
			}
		})
	}
}

// A frame that is too short, or for which there is no slot, is counted and the
// next one comes.
func TestNotPublished(t *testing.T) {
	b := newBench(t, 1)
	slot, err := b.out.(*raw).Acquire()
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range []*device.Frame{buffer(1, 16), buffer(2, 15)} {
		if err := b.take(f); err != nil || len(b.got) != 0 {
			t.Fatalf("frame %d: %v, %d published", i, err, len(b.got))
		}
	}
	b.out.(*raw).Discard(slot)
	if err := b.take(buffer(3, 16)); err != nil || len(b.got) != 1 || b.got[0].Stamp.DriverSequence != 3 {
		t.Errorf("%v, %+v", err, b.got)
	}
	want := map[capture.DropReason]int{capture.DropNoSlot: 1, capture.DropDamaged: 1}
	if s := b.sink.Stats(); !maps.Equal(s.Dropped, want) || s.Held != 0 || len(s.Misuse) > 0 {
		t.Errorf("%+v, want %v dropped", s, want)
	}
}

// The adapter itself allocates nothing for a frame; it copies it once, go4vl
// another time.
func TestAllocations(t *testing.T) {
	b := newBench(t, 0)
	b.sink.OnFrame = nil
	f := buffer(1, 16)
	if n := testing.AllocsPerRun(100, func() {
		f.Sequence++
		if err := b.take(f); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%g allocations a frame", n)
	}
	if n := b.sink.Stats().Frames; n != 101 {
		t.Errorf("%d frames of 101", n)
	}
}

func TestEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		said error
		away bool
		want []error
		not  error
	}{
		{"unplugged", errTerminal, true, []error{capture.ErrDeviceGone, v4l2.ErrorSystem}, camd.ErrIO},
		{"fatal error of the driver", errTerminal, false, []error{camd.ErrIO, v4l2.ErrorSystem}, capture.ErrDeviceGone},
		{"with a long text", errQueueing, false, []error{camd.ErrIO, v4l2.ErrorSystem}, capture.ErrDeviceGone},
		{"without a word", nil, false, []error{errSilent}, camd.ErrIO},
		{"without a word, unplugged", nil, true, []error{capture.ErrDeviceGone, errSilent}, camd.ErrIO},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, 0)
			b.device = fake{c.away}
			b.frames <- buffer(1, 16)
			if c.said != nil {
				b.errs <- c.said
			}
			b.close()
			err := b.run(t.Context())
			for _, want := range c.want {
				if !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			}
			if errors.Is(err, c.not) || len(b.got) != 1 || strings.Contains(err.Error(), "Buffer{") {
				t.Errorf("%v, %d frames", err, len(b.got))
			}
		})
	}
	t.Run("told to", func(t *testing.T) {
		b := newBench(t, 0)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		err, want error
		away      bool
	}{
		{&fs.PathError{Op: "open", Path: "/dev/video9", Err: unix.ENOENT}, capture.ErrDeviceNotFound, false},
		{&fs.PathError{Op: "open", Path: "/dev/video9", Err: unix.ENODEV}, capture.ErrDeviceGone, false},
		{&fs.PathError{Op: "open", Path: "/dev/video9", Err: unix.EACCES}, fs.ErrPermission, false},
		{fmt.Errorf("request buffers: %w", unix.EBUSY), camd.ErrBusy, false},
		{fmt.Errorf("stream on: %w", unix.ENOSPC), camd.ErrNoBandwidth, false},
		{v4l2.ErrorSystem, camd.ErrIO, false},
		{v4l2.ErrorBadArgument, v4l2.ErrorBadArgument, false},
		{v4l2.ErrorBadArgument, capture.ErrDeviceGone, true},
	} {
		err := explain("start", fake{c.away}, c.err)
		if !errors.Is(err, c.want) || !errors.Is(err, c.err) || !strings.Contains(err.Error(), "/dev/video9") && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%v becomes %v, want %v", c.err, err, c.want)
		}
	}
}

func TestStamp(t *testing.T) {
	now := linux.Monotonic()
	for _, c := range []struct {
		name   string
		at     int64
		flags  uint32
		stream frame.Clock
		want   int64
		clock  frame.Clock
	}{
		{"monotonic", now - 5, v4l2.BufFlagTimestampMonotonic, frame.ClockMonotonic, now - 5, frame.ClockUnknown},
		{"in the future", now + 5, v4l2.BufFlagTimestampMonotonic, frame.ClockMonotonic, now, frame.ClockArrival},
		{"of another clock", now - 5, v4l2.BufFlagTimestampUnknown, frame.ClockArrival, now, frame.ClockUnknown},
		{"copied", now - 5, v4l2.BufFlagTimestampCopy, frame.ClockMonotonic, now, frame.ClockArrival},
		{"none", 0, v4l2.BufFlagTimestampMonotonic, frame.ClockMonotonic, now, frame.ClockArrival},
	} {
		f := &device.Frame{Timestamp: time.Unix(0, c.at), Flags: c.flags}
		if at, clock := stamp(f, now, c.stream); at != c.want || clock != c.clock {
			t.Errorf("%s: %d of %v, want %d of %v", c.name, at, clock, c.want, c.clock)
		}
	}
}
