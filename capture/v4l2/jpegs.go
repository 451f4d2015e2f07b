// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"log/slog"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/mjpeg"
	"github.com/seed-3c7e7623/camd/jpeg"
)

// jpegs are the streams of a device that delivers JPEG, and what is said of
// damaged frames.
type jpegs struct {
	streams *mjpeg.Streams
	damage  mjpeg.Damage
	log     *slog.Logger
}

// lost takes what mjpeg.Streams says of a frame. It returns the error that ends
// the run, nil if the frame was damaged and is counted.
func (j *jpegs) lost(err error) error {
	var size *mjpeg.SizeError
	if jpeg.Reason(err) == "" || errors.As(err, &size) {
		return err
	}
	j.streams.Damaged(err)
	j.damage.Add(err)
	j.damage.Log(j.log, time.Now())
	return nil
}

func (j *jpegs) close() {
	j.damage.Flush(j.log)
	j.streams.Close()
}

// packed publishes JPEG frames out of the driver's buffers (MMAP): they are
// copied and decoded only for those who read them.
type packed struct {
	*copied
	jpegs *jpegs
}

func newPacked(q *queue, j *jpegs) *packed {
	return &packed{newCopied(q, j.streams.Compressed()), j}
}

func (t *packed) deliver(i int, st capture.Stamp) error {
	err := t.jpegs.streams.Take(t.content(i, 0))
	if err != nil {
		if err := t.jpegs.lost(err); err != nil {
			return err
		}
		return t.again(i)
	}
	if err := t.again(i); err != nil {
		t.jpegs.streams.Discard()
		return err
	}
	t.jpegs.streams.Publish(st)
	return nil
}
