// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package mjpeg

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/jpeg"
)

// Suffix makes the name of the stream of compressed frames: "color/jpeg".
const Suffix = "/jpeg"

// MaxBytes is the most that a compressed frame may take.
const MaxBytes = 64 << 20

// Config is what the source knows before its first frame.
type Config struct {
	Stream        string         // of the decoded frames, for example "color"
	Width, Height int            // pixels
	Encoding      frame.Encoding // decoded, one of [jpeg.Encodings]; "" = bgr8
	Interval      time.Duration
	Clock         frame.Clock
	// MaxBytes is the most bytes of a compressed frame; 0 = by the size. Longer
	// frames make a new format.
	MaxBytes int
	// InPlace: the device writes into slots of Compressed, Held at a time. These
	// cannot be replaced while it does, so that a frame which does not fit is a
	// SizeError.
	InPlace bool
	Held    int
}

// SizeError is a picture that is whole but not of the size that was agreed. It
// is a [jpeg.ErrSize].
type SizeError struct {
	Width, Height int // pixels, of the picture
	Agreed        frame.Geometry
}

// Error names both sizes.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%v: %dx%d, agreed was %dx%d", jpeg.ErrSize, e.Width, e.Height, e.Agreed.Width, e.Agreed.Height)
}

// Unwrap is jpeg.ErrSize.
func (e *SizeError) Unwrap() error { return jpeg.ErrSize }

// Counts is the work that was done.
type Counts struct {
	Decoded int // pictures
	Copied  int // compressed frames
}

// Streams are the two streams. A frame is first taken and then published; it is
// used by one goroutine. Close gives back the decoder.
type Streams struct {
	cfg     Config
	sink    capture.Sink
	decoder *jpeg.Decoder
	counts  Counts

	compressed, decoded capture.Writer
	packed, picture     frame.Geometry
	scratch             []byte // a picture of another size, to see whether it is one

	// The frame that was taken. Nil slots: nobody reads, or there is no slot.
	packedSlot, pictureSlot *capture.Slot
	bytes                   int // compressed
	copied                  int // of bytes
}

// Open declares both streams. It fails with the errors of frame.NewGeometry and
// of the sink.
func Open(sink capture.Sink, c Config) (*Streams, error) {
	if c.Encoding == "" {
		c.Encoding = frame.BGR8
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = likely(c.Width, c.Height)
	}
	d, err := jpeg.NewDecoder(jpeg.Auto)
	if err != nil {
		return nil, err
	}
	s := &Streams{cfg: c, sink: sink, decoder: d}
	if err := s.open(); err != nil {
		d.Close()
		return nil, err
	}
	return s, nil
}

// likely is more than frames of that many pixels usually take: a byte a pixel,
// and something for small ones.
func likely(width, height int) int {
	const least = 64 << 10
	return min(width*height+least, MaxBytes)
}

// open opens the streams as cfg says. The compressed one keeps its memory if its
// geometry stays.
func (s *Streams) open() (err error) {
	c := s.cfg
	if s.packed, err = frame.NewCompressed(frame.JPEG, c.Width, c.Height, c.MaxBytes); err != nil {
		return err
	}
	if s.picture, err = frame.NewGeometry(c.Encoding, c.Width, c.Height); err != nil {
		return err
	}
	f := capture.Format{Geometry: s.picture, Interval: c.Interval, Clock: c.Clock, Held: 1}
	if s.decoded, err = s.sink.Open(c.Stream, f); err != nil {
		return err
	}
	f.Geometry, f.Held = s.packed, max(c.Held, 1)
	s.compressed, err = s.sink.Open(c.Stream+Suffix, f)
	return err
}

// Close gives back the decoder. Nothing may be taken any more.
func (s *Streams) Close() {
	s.Discard()
	s.decoder.Close()
}

// Compressed hands out slots for a device that writes into them.
func (s *Streams) Compressed() capture.Writer { return s.compressed }

// Counts is the work so far.
func (s *Streams) Counts() Counts { return s.counts }

// Decoder is the one in use, and why it is not the best one; nil if it is.
func (s *Streams) Decoder() (name string, problem error) {
	return s.decoder.Library(), s.decoder.Problem()
}

// Take checks a frame and, as far as somebody reads them, decodes and copies it
// into slots of the streams. An error for which [jpeg.Reason] has a word is
// damage, to be told to Damaged; the next frame may be good. Damage within the
// coded data shows only while somebody reads the decoded stream.
func (s *Streams) Take(packet []byte) error {
	packet, err := s.check(packet)
	if err != nil {
		return err
	}
	if err := s.decode(packet); err != nil {
		return err
	}
	if !capture.Wanted(s.compressed) {
		return nil
	}
	slot, err := s.acquire(s.compressed)
	if slot == nil {
		if err != nil {
			s.Discard()
		}
		return err
	}
	s.packedSlot, s.bytes = slot, len(packet)
	s.copied = copy(slot.Data, packet)
	s.counts.Copied++
	return nil
}

// TakeSlot is Take for n bytes that a device wrote into a slot of Compressed.
// The slot is the caller's until it returns nil, and also if it fails.
func (s *Streams) TakeSlot(slot *capture.Slot, n int) error {
	packet, err := s.check(slot.Data[:min(n, len(slot.Data))])
	if err != nil {
		return err
	}
	if err := s.decode(packet); err != nil {
		return err
	}
	s.packedSlot, s.bytes, s.copied = slot, len(packet), 0
	return nil
}

// check holds a frame against what was agreed and returns it without padding.
func (s *Streams) check(packet []byte) ([]byte, error) {
	s.Discard()
	info, err := jpeg.Validate(packet, jpeg.Limits{})
	if err != nil {
		return nil, err
	}
	packet = packet[:info.Length]
	if info.Width == s.picture.Width && info.Height == s.picture.Height && len(packet) <= s.packed.Max {
		return packet, nil
	}
	return packet, s.refit(packet, info)
}

// refit makes the streams fit a frame, if it is whole: new memory is not made
// for a few wrong bits in a header.
func (s *Streams) refit(packet []byte, info jpeg.Info) error {
	if len(packet) > MaxBytes {
		return fmt.Errorf("%w: %d bytes, at most %d are carried", jpeg.ErrTooBig, len(packet), MaxBytes)
	}
	g, err := frame.NewGeometry(frame.Mono8, info.Width, info.Height)
	if err != nil {
		return fmt.Errorf("%w: %w", jpeg.ErrCorrupt, err)
	}
	if len(s.scratch) < g.Size() {
		s.scratch = make([]byte, g.Size())
	}
	s.counts.Decoded++
	if err := s.decoder.Decode(s.scratch, g, packet); err != nil {
		return err
	}
	if s.cfg.InPlace {
		return &SizeError{Width: info.Width, Height: info.Height, Agreed: s.picture}
	}
	s.scratch = nil // rare, and may be large
	if info.Width != s.cfg.Width || info.Height != s.cfg.Height {
		s.cfg.MaxBytes = likely(info.Width, info.Height)
	}
	s.cfg.Width, s.cfg.Height = info.Width, info.Height
	if len(packet) > s.cfg.MaxBytes {
		s.cfg.MaxBytes = min(2*len(packet), MaxBytes)
	}
	return s.open()
}

// decode decodes for those who read that.
func (s *Streams) decode(packet []byte) error {
	if !capture.Wanted(s.decoded) {
		return nil
	}
	slot, err := s.acquire(s.decoded)
	if slot == nil {
		return err
	}
	s.pictureSlot = slot
	s.counts.Decoded++
	if err := s.decoder.Decode(slot.Data, s.picture, packet); err != nil {
		s.Discard()
		return err
	}
	return nil
}

// acquire returns nil without an error if there is no slot.
func (s *Streams) acquire(w capture.Writer) (*capture.Slot, error) {
	slot, err := w.Acquire()
	if errors.Is(err, capture.ErrNoSlot) {
		w.Drop(1, capture.DropNoSlot)
		return nil, nil
	}
	return slot, err
}

// Publish publishes what was taken. Both streams get the same stamp bit for bit,
// with nothing left for each to fill in by itself: subscribers find what belongs
// together by their times.
func (s *Streams) Publish(st capture.Stamp) {
	came, copies := st.CopiedBytes, st.Copies
	now, wall := linux.Now()
	st.PublishNanos = now
	if st.CaptureNanos == 0 {
		st.CaptureNanos = now
	}
	if st.WallNanos == 0 {
		st.WallNanos = wall - (now - st.CaptureNanos)
	}
	if slot := s.packedSlot; slot != nil {
		s.packedSlot = nil
		st.Bytes, st.CopiedBytes = s.bytes, came+s.copied
		if copies > 0 && s.copied > 0 {
			st.Copies = copies + 1
		}
		s.compressed.Commit(slot, st)
	}
	if slot := s.pictureSlot; slot != nil {
		s.pictureSlot = nil
		st.Bytes, st.CopiedBytes, st.Copies = 0, 0, 0
		if s.decoder.Backend() == jpeg.Go { // it decodes into memory of its own
			st.CopiedBytes = len(slot.Data)
		}
		s.decoded.Commit(slot, st)
	}
}

// Discard forgets what was taken and not published.
func (s *Streams) Discard() {
	if slot := s.packedSlot; slot != nil {
		s.packedSlot = nil
		s.compressed.Discard(slot)
	}
	if slot := s.pictureSlot; slot != nil {
		s.pictureSlot = nil
		s.decoded.Discard(slot)
	}
}

// Damaged counts a frame for which Take failed, on both streams.
func (s *Streams) Damaged(err error) { s.Drop(1, DropReason(err)) }

// Drop counts n frames that were lost before they could be taken, on both
// streams. It implements that part of [capture.Writer].
func (s *Streams) Drop(n int, reason capture.DropReason) {
	s.compressed.Drop(n, reason)
	s.decoded.Drop(n, reason)
}
