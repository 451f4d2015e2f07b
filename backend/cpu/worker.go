// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"github.com/seed-3c7e7623/camd/jpeg"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

const (
	infoName         = "camera_info"
	compressedSuffix = "/compressed"
)

// InfoTopic is the topic of camera_info beside a topic of pictures, where
// image_transport looks for it.
func InfoTopic(pictures string) string { return sibling(pictures, infoName) }

// JPEGTopic is the topic of compressed pictures below one of pictures.
func JPEGTopic(pictures string) string { return pictures + compressedSuffix }

// worker is what the goroutine of a backend has for itself.
type worker struct {
	b       *Backend
	epoch   *epoch // for which the topics are
	info    []byte // the CameraInfo; its stamp is set anew each time; nil: not known yet
	loading chan loaded
	encoder *jpeg.Encoder
	own     []byte // the picture of which JPEG is made
	pace    pace
	looked  *epoch // of whose JPEG is known whether it is grey
}

// run is the goroutine of the backend.
func (b *Backend) run() {
	defer close(b.over)
	leave := b.link.Join(b.renew)
	defer leave()
	defer b.w.end()
	for {
		select {
		case <-b.stop:
			return
		case <-b.wake:
		}
		b.w.forget()
		if e := b.w.settle(); e != nil && b.w.step(e) {
			b.signal() // there may be a newer frame by now
		}
	}
}

// forget drops what is kept for late subscribers of topics without any.
func (w *worker) forget() {
	if w.b.o.QoS.Durability != graph.TransientLocal {
		return
	}
	for _, p := range w.b.places() {
		if p.topic != nil {
			p.topic.forget()
		}
	}
}

// settle makes the topics fit the newest epoch, which it returns; nil while
// there is none, or no session.
func (w *worker) settle() *epoch {
	b := w.b
	changed := b.changed.Swap(false)
	b.mu.Lock()
	e, pair := b.next, b.pairing
	b.mu.Unlock()
	if s, _ := b.link.State(); s == nil || e == nil {
		return nil // who opens or makes one renews
	}
	if w.info == nil && w.epoch == e {
		w.calibrate(e, 0)
	}
	if w.epoch == e && !changed {
		return e
	}
	p := e.plan
	encodes := p.from == captured || p.from != noJPEG && !pair.noEncode
	// Who gives the topic up tells by the link.
	if pair.after != nil && pair.after.encodes() {
		encodes = false
	}
	image := w.place(&b.image, !p.src.Compressed())
	info := w.place(&b.info, !pair.noInfo)
	compressed := w.place(&b.jpeg, encodes)
	if w.epoch == e && !image && !info && !compressed {
		return e
	}
	fresh := w.epoch != e
	w.epoch = e
	b.mu.Lock()
	w.describe(p)
	at := b.pictures()
	name, there := at.name, at.topic != nil
	b.mu.Unlock()
	if there && (fresh || image || compressed) {
		b.o.Log.Info("published for ROS 2", "stream", b.o.Stream, "topic", name, "pictures", p.String(), "qos", b.o.QoS.Describe())
	}
	if fresh {
		w.info = nil
		w.calibrate(e, calibrationTime)
		if p.note != "" {
			b.o.Log.Warn("ros_encoding cannot be had", "stream", b.o.Stream, "err", p.note, "instead", p.out.Encoding)
		}
	}
	return e
}

// place declares or takes back a topic as it is wanted, and reports whether it
// is a new one.
func (w *worker) place(at *place, want bool) (fresh bool) {
	b := w.b
	if at.denied != "" {
		b.mu.Lock()
		at.wanted = want
		b.mu.Unlock()
		return false
	}
	switch old := at.topic; { // which only this goroutine sets
	case old == nil && want:
		made, err := NewTopic(b.link, NodeName(b.o.Camera), at.name, at.typ, b.o.QoS, b.rematched)
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		b.mu.Lock()
		known := at.problem == problem
		at.topic, at.problem = made, problem
		b.mu.Unlock()
		if err != nil && !known {
			b.o.Log.Warn("topic is not published", "stream", b.o.Stream, "topic", at.name, "err", err)
		}
		return err == nil
	case !want:
		b.mu.Lock()
		at.topic, at.problem = nil, ""
		b.mu.Unlock()
		if old != nil {
			old.Close()
		}
	}
	return false
}

// sibling is the name beside a topic, as image_transport finds it.
func sibling(topic, name string) string {
	for i := len(topic) - 1; i >= 0; i-- {
		if topic[i] == '/' {
			return topic[:i+1] + name
		}
	}
	return "/" + name
}

// describe prepares what is the same in all messages of the epoch. The
// backend's mutex is held.
func (w *worker) describe(p *plan) {
	b := w.b
	header := msg.Header{FrameID: b.o.FrameID}
	if t := b.image.topic; t != nil {
		m := msg.Image{
			Header: header, Height: uint32(p.out.Height), Width: uint32(p.out.Width),
			Encoding: string(p.out.Encoding), Step: uint32(p.out.Step),
		}
		t.prefix, t.encoding = m.AppendPrefix(nil, p.out.Size()), string(p.out.Encoding)
	}
	if t := b.jpeg.topic; t != nil {
		w.describeJPEG(t, p.format(false))
	}
}

func (w *worker) describeJPEG(t *Topic, format string) {
	m := msg.CompressedImage{Header: msg.Header{FrameID: w.b.o.FrameID}, Format: format}
	t.prefix, t.encoding = m.AppendPrefix(nil, 0), m.Format
}

// end takes everything back.
func (w *worker) end() {
	for _, p := range w.b.places() {
		w.place(p, false)
	}
	if w.encoder != nil {
		w.encoder.Close()
	}
}

// step publishes the newest frame, if somebody subscribes and there is one.
func (w *worker) step(e *epoch) bool {
	b := w.b
	// Only this goroutine changes them, so that they are read without the mutex.
	image, compressed := matched(b.image.topic), matched(b.jpeg.topic)
	info := w.infoBeside(image)
	wanted := image != nil || info != nil || compressed != nil
	e.local.Want(wanted)
	if wanted {
		w.makeRoom(e, image, info, compressed)
	}
	if !wanted || !image.ready() || !info.ready() || !compressed.ready() {
		return false
	}
	h := e.take()
	if h == nil {
		return false
	}
	defer h.release()
	// Who began to subscribe before the frame was there gets it, too.
	image, compressed = begun(image, b.image.topic), begun(compressed, b.jpeg.topic)
	if info == nil {
		info = begun(nil, w.infoBeside(image))
	}
	m := &h.lease.Meta
	if m.Bytes < e.plan.src.MinBytes() {
		return true
	}
	nanos := b.o.Stamp.HeaderNanos(m)
	if info != nil {
		setStamp(w.info, nanos)
		info.putInTurn(b, nanos, w.info)
	}
	var pixels []byte
	if image != nil {
		setStamp(image.prefix, nanos)
		pixels = w.image(e, h, image)
	}
	if compressed != nil {
		setStamp(compressed.prefix, nanos)
		w.compressed(e, h, compressed, pixels)
	}
	return true
}

// infoBeside is the topic of camera_info that goes with the frame, of which an
// Image is published or not.
func (w *worker) infoBeside(image *Topic) *Topic {
	b := w.b
	if w.info == nil {
		return nil
	}
	b.mu.Lock()
	lender, borrower := b.lender, b.borrower
	b.mu.Unlock()
	switch {
	case lender != nil:
		return lender.lent()
	case borrower != nil && image == nil:
		return nil
	}
	return matched(b.info.topic)
}

// begun is a topic that is served already, or else the same one now, if somebody
// subscribes meanwhile and it can take a message at once.
func begun(served, now *Topic) *Topic {
	if served != nil {
		return served
	}
	if now = matched(now); !now.ready() {
		return nil
	}
	return now
}

func matched(t *Topic) *Topic {
	if t == nil || !t.Matched() {
		return nil
	}
	return t
}
