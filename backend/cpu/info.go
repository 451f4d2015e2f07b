// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"time"

	"github.com/seed-3c7e7623/camd/ros2/msg"
)

// calibrationTime is how long pictures wait for their camera_info, whose
// calibration is read from a file. A file on a disk that does not answer must
// hold up no more than camera_info.
const calibrationTime = time.Second

// loaded is the CameraInfo of an epoch.
type loaded struct {
	epoch   *epoch
	message []byte
}

// calibrate finds the CameraInfo of all frames of an epoch, for which it waits
// no longer than patience. Until it is there, info is nil.
func (w *worker) calibrate(e *epoch, patience time.Duration) {
	b := w.b
	if b.o.Info == nil {
		w.info = cameraInfo(&b.o, e.plan)
		return
	}
	if w.loading == nil {
		w.load(e)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for w.info == nil {
		select {
		case l := <-w.loading:
			w.loaded(e, l)
			continue
		default:
		}
		if patience == 0 {
			return
		}
		select {
		case l := <-w.loading:
			w.loaded(e, l)
		case <-b.stop:
			return
		case <-timer.C:
			b.o.Log.Warn("no camera_info before its calibration is read", "stream", b.o.Stream)
			return
		}
	}
}

// loaded takes what was made for an epoch, and makes it again for e if that is
// another one.
func (w *worker) loaded(e *epoch, l loaded) {
	w.loading = nil
	if l.epoch == e {
		w.info = l.message
		return
	}
	w.load(e)
}

// load begins to make the CameraInfo of an epoch. One is made at a time.
func (w *worker) load(e *epoch) {
	done, o, wake := make(chan loaded, 1), &w.b.o, w.b.signal
	w.loading = done
	go func() {
		done <- loaded{e, cameraInfo(o, e.plan)}
		wake()
	}()
}

func cameraInfo(o *Options, p *plan) []byte {
	m := msg.CameraInfo{Width: uint32(p.src.Width), Height: uint32(p.src.Height)}
	if o.Info != nil {
		m = o.Info(p.src.Width, p.src.Height)
	}
	m.Header = msg.Header{FrameID: o.FrameID}
	return m.AppendCDR(nil)
}
