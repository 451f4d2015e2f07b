// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"log/slog"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/mjpeg"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/jpeg"
)

// inStreams publishes motion JPEG on two streams.
type inStreams struct {
	reader  *jpegReader
	sink    capture.Sink
	format  capture.Format // of the decoded frames, but for their geometry
	log     *slog.Logger
	streams *mjpeg.Streams // nil before the first frame
}

// fit opens the streams, which afterwards fit themselves.
func (d *inStreams) fit(g frame.Geometry) (err error) {
	if d.streams != nil {
		return nil
	}
	d.streams, err = mjpeg.Open(d.sink, mjpeg.Config{
		Stream: Stream, Width: g.Width, Height: g.Height, Encoding: g.Encoding,
		Interval: d.format.Interval, Clock: d.format.Clock,
	})
	if err != nil {
		return err
	}
	if name, problem := d.streams.Decoder(); problem != nil {
		d.log.Info("frames are decoded slowly, and not all damage is seen", "decoder", name, "reason", problem)
	}
	return nil
}

func (d *inStreams) take() error {
	err := d.streams.Take(d.reader.take())
	if jpeg.Reason(err) != "" {
		err = damaged(err)
	}
	return err
}

func (d *inStreams) publish(st capture.Stamp) { d.streams.Publish(st) }
func (d *inStreams) discard()                 { d.streams.Discard() }
func (d *inStreams) damaged(err error)        { d.streams.Damaged(err) }

func (d *inStreams) close() {
	if d.streams != nil {
		d.streams.Close()
	}
}
