// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-3c7e7623/camd/backend/cuda"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// GPU is whether and how frames are offered in memory of a GPU.
type GPU struct {
	cuda.Options
	Expected bool // warn where it cannot be
}

// openGPU opens the driver, beside the cameras where that takes long.
func (d *Daemon) openGPU() {
	if d.GPU == nil {
		return
	}
	o := d.GPU.Options
	o.Log, o.Opened = d.log, d.gpuOpened
	d.engine = cuda.Open(o)
}

// gpuPatience is for how long the word that camd runs waits for the driver.
const gpuPatience = time.Second

// gpuKnown waits a moment, so that who starts camd finds out how the GPU is, and
// says in the log if it is not known yet.
func (d *Daemon) gpuKnown() {
	if d.engine != nil && !d.engine.Wait(gpuPatience) {
		d.log.Warn("the GPU's driver does not answer yet: frames go out without it meanwhile", "backend", negotiate.BackendCUDA, "after", gpuPatience)
	}
}

// gpuOpened says in the log what came of opening the driver.
func (d *Daemon) gpuOpened(s cuda.Status) {
	switch {
	case s.Reason == "":
		d.log.Info("frames can be had on the GPU", "backend", negotiate.BackendCUDA, "gpu", s.GPU, "uuid", s.UUID,
			"cuda", s.CUDA, "handle", s.Handle, "library", s.Library)
	case !d.GPU.Off:
		level := slog.LevelInfo
		if d.GPU.Expected {
			level = slog.LevelWarn
		}
		d.log.Log(context.Background(), level, "no frames on a GPU", "backend", negotiate.BackendCUDA, "reason", s.Reason, "err", s.Detail)
	}
}

// usesGPU reports whether frames of the camera may go to a GPU.
func (c *camera) usesGPU() bool { return c.d != nil && c.d.engine != nil && c.d.engine.On() }

// newCUDA is the backend of a stream on the GPU, nil where that is not used.
func newCUDA(s *stream) *cuda.Backend {
	c := s.camera
	if c.d.engine == nil {
		return nil
	}
	return cuda.New(c.d.engine, s.local(negotiate.BackendCUDA), cuda.Rings{Readers: c.limits.subscribers, EvictAfter: c.limits.evictAfter})
}

// gpuSlots is how many slots of the host ring an upload holds.
func (s *stream) gpuSlots() int {
	if s.cuda == nil || !s.camera.usesGPU() {
		return 0
	}
	return cuda.Credit
}

// gpuStatus is the GPU in the status document, nil where it is not used.
func (d *Daemon) gpuStatus() *cuda.Status {
	if d.engine == nil {
		return nil
	}
	s := d.engine.Status()
	return &s
}
