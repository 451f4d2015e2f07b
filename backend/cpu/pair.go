// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

// pairing is what the streams of one camera, its own JPEG and the pictures that
// are decoded from it, know of each other. The backend's mutex guards it.
type pairing struct {
	noEncode bool     // the camera's JPEG has this stream's topic for compressed pictures
	noInfo   bool     // the decoded stream has this one's topic for camera_info
	after    *Backend // that had the topic of compressed pictures; nil: nobody
	lender   *Backend // whose camera_info this stream publishes while nobody has images
	borrower *Backend // that does so
}

// Pair tells the backends of a camera's own JPEG and of the pictures that are
// decoded from it of each other. Where both have the same topic for compressed
// pictures, these are the camera's own, and none are encoded. Where both have the
// same topic for camera_info, it goes with each Image, with the same header bit
// for bit. sameInfo says that it would be the same of both but for the header:
// then, while nobody subscribes to images, it goes with the camera's JPEG, and
// no frame is decoded for it. Pair waits for nothing.
func Pair(captured, decoded *Backend, sameInfo bool) {
	compressed := captured.o.Topic == decoded.o.Topic
	info := InfoTopic(captured.o.Topic) == InfoTopic(decoded.o.Topic)
	captured.mu.Lock()
	captured.noInfo = info
	if compressed {
		captured.after = decoded
	}
	if info && sameInfo {
		captured.lender = decoded
	}
	captured.mu.Unlock()
	decoded.mu.Lock()
	decoded.noEncode = compressed
	if info && sameInfo {
		decoded.borrower = captured
	}
	decoded.mu.Unlock()
	captured.renew()
	decoded.renew()
}

// part ends what others have with b, which ends.
func (b *Backend) part() {
	b.mu.Lock()
	lender := b.lender
	b.lender, b.after = nil, nil
	b.mu.Unlock()
	if lender == nil {
		return
	}
	lender.mu.Lock()
	if lender.borrower == b {
		lender.borrower = nil
	}
	lender.mu.Unlock()
	lender.signal()
}

// lent is the topic of camera_info if somebody subscribes to it and nobody to
// images.
func (b *Backend) lent() *Topic {
	b.mu.Lock()
	defer b.mu.Unlock()
	if matched(b.image.topic) != nil {
		return nil
	}
	return matched(b.info.topic)
}

// encodes says whether b has its topic for compressed pictures still.
func (b *Backend) encodes() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.jpeg.topic != nil
}

// rematched is called when somebody begins or ceases to subscribe, and when a
// topic has room again: that may be for another stream as well.
func (b *Backend) rematched() {
	b.signal()
	b.mu.Lock()
	borrower := b.borrower
	b.mu.Unlock()
	if borrower != nil {
		borrower.signal()
	}
}
