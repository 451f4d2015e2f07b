// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-3c7e7623/camd/cudabuf"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
)

// begin opens the frame's reading, with its first use on the GPU. mu is held.
func (h *held) begin() (*use, error) {
	u, err := h.sub.start()
	if err != nil {
		return nil, err
	}
	if !h.began {
		if h.reading, err = u.reaper.Open((*lease)(h)); err != nil {
			return nil, fmt.Errorf("%w: the subscription is closed", ErrReleased)
		}
		h.began = true
	}
	return u, nil
}

// use has work of s read the frame. mu is held.
func (h *held) use(s Stream) error {
	u, err := h.begin()
	if err != nil {
		return err
	}
	if ptr, _ := h.frame.Device(); ptr != 0 {
		if err := h.reading.UseOn(s); err != nil {
			return err
		}
		h.once(func(c *Counts) *uint64 { return &c.InPlace })
		return nil
	}
	if s <= cudabuf.LastDefaultStream {
		return h.reading.UseOn(s) // says why not
	}
	if h.reading.Uses(s) {
		return nil
	}
	if err := h.sub.job.upload(u, h, s); err != nil {
		// What was queued is waited for in its own stream.
		return errors.Join(err, h.reading.UseOn(u.copies))
	}
	return h.reading.UseOn(s)
}

// once counts the frame, the first time.
func (h *held) once(which func(*Counts) *uint64) {
	if !h.used {
		h.used = true
		h.sub.mu.Lock()
		*which(&h.sub.counts)++
		h.sub.mu.Unlock()
	}
}

// view is where the frame is. mu is held.
func (h *held) view() View {
	g := h.frame.Geometry()
	v := View{Bytes: h.frame.Meta().Bytes, Pitch: g.Step, Geometry: g}
	if ptr, _ := h.frame.Device(); ptr != 0 {
		v.Ptr = Ptr(ptr)
	} else {
		v.Ptr = h.buffer
	}
	return v
}

// dispose gives back what the frame's uploads took.
func (h *held) dispose(t *driver.Thread) error {
	var errs []error
	if h.buffer != 0 {
		errs = append(errs, t.Free(h.buffer))
		h.buffer = 0
	}
	if h.stage != nil {
		errs = append(errs, t.HostFree(h.stage))
		h.stage = nil
	}
	if h.ready != 0 {
		errs = append(errs, t.DestroyEvent(h.ready))
		h.ready = 0
	}
	return errors.Join(errs...)
}

// job is what is queued for a frame: its functions are made once, so that a
// frame allocates nothing.
type job struct {
	sub *Subscription

	use    *use
	held   *held
	stream Stream
	from   Ptr
	bytes  int
	direct bool

	uploading, reading, asking func() error

	stage []byte // pinned, for what is read back
	read  driver.Event
	done  bool
	began time.Time
}

func (j *job) init() { j.uploading, j.reading, j.asking = j.doUpload, j.doRead, j.doAsk }

// upload copies the frame to its buffer on the GPU, if that is not under way,
// and has s wait for it.
func (j *job) upload(u *use, h *held, s Stream) error {
	j.sub.jobMu.Lock()
	defer j.sub.jobMu.Unlock()
	if err := u.engine.failed(); err != nil {
		return err // the job may be in the hands of a thread that hangs
	}
	j.use, j.held, j.stream = u, h, s
	j.direct = !h.uploaded && j.sub.device.registered(u.engine, h.frame.Data())
	err := u.engine.do(j.uploading)
	if err == nil {
		h.once(func(c *Counts) *uint64 {
			if j.direct {
				return &c.Registered
			}
			return &c.Staged
		})
	}
	return err
}

func (j *job) doUpload() error {
	t, h := j.use.engine.submit, j.held
	if !h.uploaded {
		if err := h.makeRoom(t, j.direct); err != nil {
			return err
		}
		data := h.frame.Data()
		if !j.direct {
			data = h.stage[:copy(h.stage, data)]
		}
		if err := t.HtoD(h.buffer, data, j.use.copies); err != nil {
			return err
		}
		if err := t.Record(h.ready, j.use.copies); err != nil {
			return err
		}
		h.uploaded = true
	}
	if err := t.StreamWait(j.stream, h.ready); err != nil {
		return fmt.Errorf("%w: %#x: %w", ErrStream, uintptr(j.stream), err)
	}
	return nil
}

// makeRoom makes the frame's buffers, and larger ones after a change of format.
func (h *held) makeRoom(t *driver.Thread, direct bool) (err error) {
	size := int64(max(h.frame.Geometry().Size(), h.frame.Meta().Bytes))
	if h.ready == 0 {
		if h.ready, err = t.NewEvent(); err != nil {
			return err
		}
	}
	if h.room < size {
		if h.buffer != 0 {
			p := h.buffer
			h.buffer, h.room = 0, 0
			if err = t.Free(p); err != nil {
				return err
			}
		}
		if h.buffer, err = t.Alloc(size); err != nil {
			return err
		}
		h.room = size
	}
	if !direct && int64(len(h.stage)) < size {
		return grow(t, &h.stage, size)
	}
	return nil
}

// grow replaces pinned memory by at least so much.
func grow(t *driver.Thread, stage *[]byte, size int64) (err error) {
	if old := *stage; old != nil {
		*stage = nil
		if err = t.HostFree(old); err != nil {
			return err
		}
	}
	*stage, err = t.HostAlloc(int(size))
	return err
}

// readBack copies memory of the GPU to dst and waits for that. While it waits the
// frame is held.
func (j *job) readBack(u *use, h *held, dst []byte, from Ptr) error {
	j.sub.jobMu.Lock()
	defer j.sub.jobMu.Unlock()
	if err := u.engine.failed(); err != nil {
		return err
	}
	j.use, j.held, j.from, j.bytes = u, h, from, len(dst)
	err := u.engine.do(j.reading)
	if err == nil {
		err = j.await()
	}
	if err != nil {
		// What was queued, if anything, is waited for with the frame.
		return errors.Join(err, h.reading.UseOn(u.engine.side))
	}
	copy(dst, j.stage)
	return nil
}

func (j *job) doRead() (err error) {
	t := j.use.engine.submit
	if j.read == 0 {
		if j.read, err = t.NewEvent(); err != nil {
			return err
		}
	}
	if len(j.stage) < j.bytes {
		if err = grow(t, &j.stage, int64(j.bytes)); err != nil {
			return err
		}
	}
	if err = t.DtoH(j.stage[:j.bytes], j.from, j.use.engine.side); err != nil {
		return err
	}
	return t.Record(j.read, j.use.engine.side)
}

// readLimit is how long a copy to the host may take, with what else the GPU does.
const readLimit = cudabuf.CallLimit

// await waits until what is read back is there.
func (j *job) await() error {
	j.done, j.began = false, time.Now()
	for {
		if err := j.use.engine.ask(j.asking); err != nil || j.done {
			return err
		}
		if time.Since(j.began) > readLimit {
			return j.use.engine.note(fmt.Errorf("%w: a copy to the host is not complete after %v", driver.ErrTimeout, readLimit))
		}
		pause(j.began)
	}
}

func (j *job) doAsk() (err error) {
	for {
		if j.done, err = j.use.engine.watch.EventQuery(j.read); j.done || err != nil || time.Since(j.began) > awaitSpin {
			return err
		}
	}
}

func (j *job) dispose(t *driver.Thread) error {
	var errs []error
	if j.stage != nil {
		errs = append(errs, t.HostFree(j.stage))
		j.stage = nil
	}
	if j.read != 0 {
		errs = append(errs, t.DestroyEvent(j.read))
		j.read = 0
	}
	return errors.Join(errs...)
}
