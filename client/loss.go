// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"
	"os"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// errGPULost: the program's GPU failed for good, so that frames in its memory are
// of no use.
var errGPULost = errors.New("the GPU of this program cannot be used any more")

// errAbandoned: the program left frames that can be neither used nor given back.
var errAbandoned = errors.New("frames were abandoned")

// DeviceWatcher is what a [DeviceMemory] can also be: one that tells that its GPU
// failed for good in this process. The subscription then leaves the path cuda by
// itself, and its importer's Hello says why.
type DeviceWatcher interface {
	// Lost is closed when the GPU failed.
	Lost() <-chan struct{}
	// Failure says why, once Lost is closed.
	Failure() error
}

// tie is what keeps a connection open though its way has ended: the daemon takes
// the end of the socket as proof that nobody reads its memory any more. It belongs
// to the subscription's mutex.
type tie struct {
	held  int      // frames of all epochs that were not given back, also abandoned ones
	why   error    // the way ends, though the socket does not
	stays bool     // the way has ended; the socket goes with the last frame
	pipe  *os.File // of a way that has ended
}

// close ends the connection of a way that has ended.
func (t *tie) close(c *negotiate.Conn) {
	_ = c.Close()
	if t.pipe != nil {
		_ = t.pipe.Close()
	}
}

// leave has the way end because of why, without the socket.
func (t *tie) leave(why error) {
	if t.why == nil {
		t.why = why
	}
}

// over books the end of the way.
func (t *tie) over() { t.stays = t.why != nil && t.held > 0 }

// watchDevice ends the way of a connection when the GPU fails that its frames are
// on. The function that it returns ends the watch.
func (s *Subscription) watchDevice(cn *connection) func() {
	if cn.first == nil {
		return func() {}
	}
	w, ok := cn.first.device.(DeviceWatcher)
	if !ok {
		return func() {}
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-w.Lost():
			s.mu.Lock()
			cn.tie.leave(lossOf(w))
			s.mu.Unlock()
			cn.conn.Interrupt()
		case <-stop:
		}
	}()
	return func() {
		close(stop)
		<-ended
	}
}

func lossOf(w DeviceWatcher) error { return fmt.Errorf("%w: %w", errGPULost, w.Failure()) }

// Abandon ends the program's use of a frame without giving it back, for work of a
// GPU of which nothing tells whether it is over. The daemon then does not write to
// the memory before this process has ended, or it takes the memory back by force
// because it runs short. The subscription goes on by a connection of its own. A
// second call, or one after Release, does nothing.
func (f Frame) Abandon() {
	if f.h != nil {
		f.h.sub.abandon(f)
	}
}

func (s *Subscription) abandon(f Frame) {
	s.mu.Lock()
	if !f.live() {
		s.mu.Unlock()
		return
	}
	h := f.h
	h.ticket.Add(1)
	h.refs, h.inLoop = 0, false
	if h.epoch == nil {
		s.releaseSample(h) // memory of this process
		signal(s.released)
		return
	}
	e := h.epoch // stays in use, and mapped
	h.epoch, h.lease.Data = nil, nil
	s.free = append(s.free, h)
	e.held--
	if e.held == 0 && e.evicted != nil {
		s.evicted = nil
	}
	why := errAbandoned
	if w, ok := e.device.(DeviceWatcher); ok {
		select {
		case <-w.Lost():
			why = lossOf(w)
		default:
		}
	}
	e.tie.leave(why)
	s.mu.Unlock()
	e.conn.Interrupt()
	signal(s.released)
}
