// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"github.com/seed-3c7e7623/camd/jpeg"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

const (
	infoName         = "camera_info"
	compressedSuffix = "/compressed"
)

// worker is what the goroutine of a backend has for itself.
type worker struct {
	b       *Backend
	epoch   *epoch // for which the topics are
	info    []byte // the CameraInfo; its stamp is set anew each time
	encoder *jpeg.Encoder
	own     []byte // the picture of which JPEG is made
	pace    pace
	left    bool   // b.left is closed
	looked  *epoch // of whose JPEG is known whether it is grey
	whole   bool   // every topic is as epoch wants it
}

// run is the goroutine of the backend.
func (b *Backend) run() {
	defer close(b.over)
	leave := b.link.Join(b.signal)
	defer leave()
	defer b.w.end()
	for {
		select {
		case <-b.stop:
			return
		case <-b.wake:
		}
		if e := b.w.settle(); e != nil && b.w.step(e) {
			b.signal() // there may be a newer frame by now
		}
	}
}

// settle makes the topics fit the newest epoch, which it returns; nil while
// there is none, or no session.
func (w *worker) settle() *epoch {
	b := w.b
	b.mu.Lock()
	e, noEncode, noInfo := b.next, b.noEncode, b.noInfo
	b.mu.Unlock()
	if noEncode && !w.left {
		w.whole = false
		w.left = true
		defer close(b.left)
	}
	if s, _ := b.link.State(); s == nil || e == nil {
		return nil
	}
	if w.epoch == e && w.whole {
		return e
	}
	p := e.plan
	encodes := p.from == captured || p.from != noJPEG && !noEncode
	image, ok := w.topic(&b.image, !p.src.Compressed(), b.o.Topic, msg.TypeImage)
	info, okInfo := w.topic(&b.info, p.src.Compressed() && b.o.JPEGInfo || !p.src.Compressed() && !noInfo, sibling(b.o.Topic, infoName), msg.TypeCameraInfo)
	compressed, okJPEG := w.topic(&b.jpeg, encodes, b.o.Topic+compressedSuffix, msg.TypeCompressedImage)
	w.whole = ok && okInfo && okJPEG
	if w.epoch == e && !image && !info && !compressed {
		return e
	}
	w.epoch = e
	w.info = w.cameraInfo(p) // may read a file: nobody waits for that
	b.mu.Lock()
	w.describe(p)
	if w.whole {
		b.problem = ""
	}
	at := b.topic()
	b.mu.Unlock()
	if w.whole {
		b.o.Log.Info("published for ROS 2", "stream", b.o.Stream, "topic", at, "pictures", p.String(), "qos", b.o.QoS.Describe())
	}
	if p.note != "" {
		b.o.Log.Warn("ros_encoding cannot be had", "stream", b.o.Stream, "err", p.note, "instead", p.out.Encoding)
	}
	return e
}

// topic declares or takes back a topic as it is wanted, and reports whether it
// is a new one, and whether it is now as wanted.
func (w *worker) topic(at **Topic, want bool, name string, t msg.Type) (fresh, ok bool) {
	b := w.b
	b.mu.Lock()
	old := *at
	b.mu.Unlock()
	switch {
	case old == nil && want:
		made, err := NewTopic(b.link, NodeName(b.o.Camera), name, t, b.o.QoS, b.signal)
		b.mu.Lock()
		defer b.mu.Unlock()
		if err != nil {
			if b.problem != err.Error() {
				b.o.Log.Warn("topic is not published", "stream", b.o.Stream, "topic", name, "err", err)
			}
			b.problem = err.Error()
			return false, false
		}
		*at = made
		return true, true
	case old != nil && !want:
		b.mu.Lock()
		*at = nil
		b.mu.Unlock()
		old.Close()
	}
	return false, true
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
	if t := b.image; t != nil {
		m := msg.Image{
			Header: header, Height: uint32(p.out.Height), Width: uint32(p.out.Width),
			Encoding: string(p.out.Encoding), Step: uint32(p.out.Step),
		}
		t.prefix, t.encoding = m.AppendPrefix(nil, p.out.Size()), string(p.out.Encoding)
	}
	if t := b.jpeg; t != nil {
		w.describeJPEG(t, p.format(false))
	}
}

func (w *worker) describeJPEG(t *Topic, format string) {
	m := msg.CompressedImage{Header: msg.Header{FrameID: w.b.o.FrameID}, Format: format}
	t.prefix, t.encoding = m.AppendPrefix(nil, 0), m.Format
}

// cameraInfo is the CameraInfo of all frames of the epoch.
func (w *worker) cameraInfo(p *plan) []byte {
	o := &w.b.o
	m := msg.CameraInfo{Width: uint32(p.src.Width), Height: uint32(p.src.Height)}
	if o.Info != nil {
		m = o.Info(p.src.Width, p.src.Height)
	}
	m.Header = msg.Header{FrameID: o.FrameID}
	return m.AppendCDR(nil)
}

// end takes everything back.
func (w *worker) end() {
	b := w.b
	b.mu.Lock()
	topics := []*Topic{b.image, b.info, b.jpeg}
	b.image, b.info, b.jpeg = nil, nil, nil
	b.mu.Unlock()
	for _, t := range topics {
		if t != nil {
			t.Close()
		}
	}
	if w.encoder != nil {
		w.encoder.Close()
	}
}

// step publishes the newest frame, if somebody subscribes and there is one.
func (w *worker) step(e *epoch) bool {
	b := w.b
	// Only this goroutine changes them, so that they are read without the mutex.
	image, info, compressed := matched(b.image), matched(b.info), matched(b.jpeg)
	wanted := image != nil || info != nil || compressed != nil
	e.local.Want(wanted)
	if !wanted || image != nil && !image.ready() || compressed != nil && !compressed.ready() {
		return false
	}
	h := e.take()
	if h == nil {
		return false
	}
	defer h.release()
	m := &h.lease.Meta
	if m.Bytes < e.plan.src.MinBytes() {
		return true
	}
	nanos := b.o.Stamp.HeaderNanos(m)
	if info != nil {
		setStamp(w.info, nanos)
		info.Put(w.info)
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

func matched(t *Topic) *Topic {
	if t == nil || !t.Matched() {
		return nil
	}
	return t
}
