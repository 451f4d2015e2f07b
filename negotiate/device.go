// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of what is said about GPUs.
const (
	MaxGPUs    = 64 // in one Hello
	maxHandles = 8
)

// GPU is a device that a client sees. Ordinals differ from process to process
// (CUDA_VISIBLE_DEVICES), so only the UUID counts.
type GPU struct {
	UUID string `json:"uuid"` // as the driver writes it, "GPU-8-4-4-4-12" in hexadecimal
	Name string `json:"name,omitempty"`
}

// HandleKind is a way in which memory of a GPU goes from process to process.
type HandleKind string

// HandleVMM is memory of cuMemCreate, exported as a file descriptor that goes
// with the message (CUDA driver API, virtual memory management).
const HandleVMM HandleKind = "vmm_fd"

// Device is where the pixels of an offered ring are when they are in memory of
// a GPU. The second descriptor of the message is then its handle: one
// allocation with all slots, slot i at i times the stride of the layout. The
// ring header, pages and wake-ups are as with host memory.
type Device struct {
	UUID   string     `json:"uuid"`
	Handle HandleKind `json:"handle"`
	Bytes  int64      `json:"bytes"` // of the whole allocation, for the import
	// ProbeOffset is where ProbeBytes random bytes lie, behind the slots. They
	// follow those of the ring header in what Proof is made of.
	ProbeOffset int64 `json:"probe_offset"`
}

// JudgeDevice holds what a client says of its GPUs against the memory that
// would be offered to it. It returns "" or the reason why that is of no use to
// the client, with a text for people.
func JudgeDevice(h *Hello, uuid string, kind HandleKind) (reason Reason, detail string) {
	switch {
	case h.DeviceReason != "":
		return deviceReason(h.DeviceReason), "the client: " + text(h.DeviceDetail)
	case !slices.Contains(h.Handles, kind):
		if len(h.Handles) == 0 {
			return ReasonVMMUnsupported, "the client can import no memory of a GPU"
		}
		return ReasonVMMUnsupported, fmt.Sprintf("the client cannot import %s, only %s", kind, joined(h.Handles))
	case !slices.ContainsFunc(h.GPUs, func(g GPU) bool { return strings.EqualFold(g.UUID, uuid) }):
		if len(h.GPUs) == 0 {
			return ReasonDifferentGPU, "the client sees no GPU, frames are on " + uuid
		}
		var seen []string
		for _, g := range h.GPUs[:min(len(h.GPUs), 4)] {
			seen = append(seen, g.UUID)
		}
		return ReasonDifferentGPU, fmt.Sprintf("the client sees %s, frames are on %s", strings.Join(seen, ", "), uuid)
	}
	return "", ""
}

// deviceReason passes on what a client may say about its own GPUs. Reasons are
// counted and logged by their word, so one that is made up must not get there.
func deviceReason(r Reason) Reason {
	switch r {
	case ReasonNoDriver, ReasonDriverMismatch, ReasonDifferentGPU, ReasonVMMUnsupported, ReasonGPULost, ReasonBuiltWithoutDL, ReasonLimit,
		ReasonGPUError, ReasonGPUTimeout:
		return r
	}
	return ReasonNoDriver
}

func joined(kinds []HandleKind) string {
	var words []string
	for _, k := range kinds {
		words = append(words, string(k))
	}
	return strings.Join(words, ", ")
}

func (h *Hello) validateDevices() error {
	if len(h.GPUs) > MaxGPUs {
		return fmt.Errorf("%d GPUs, at most %d are allowed", len(h.GPUs), MaxGPUs)
	}
	for _, g := range h.GPUs {
		if err := errors.Join(checkName("GPU UUID", g.UUID, maxWord), checkOptional("GPU name", g.Name, MaxName)); err != nil {
			return err
		}
	}
	if len(h.Handles) > maxHandles {
		return fmt.Errorf("%d handle kinds, at most %d are allowed", len(h.Handles), maxHandles)
	}
	for _, k := range h.Handles {
		if err := checkName("handle kind", string(k), maxWord); err != nil {
			return err
		}
	}
	if h.Driver < 0 {
		return fmt.Errorf("driver %d", h.Driver)
	}
	return checkOptional("device reason", string(h.DeviceReason), maxWord)
}

// validate lets nil pass: pixels in host memory.
func (d *Device) validate(l Layout) error {
	if d == nil {
		return nil
	}
	if err := errors.Join(checkName("GPU UUID", d.UUID, maxWord), checkName("handle kind", string(d.Handle), maxWord)); err != nil {
		return err
	}
	if l.PixelBytes < 1 || d.Bytes < ProbeBytes || d.Bytes > maxMemory || d.ProbeOffset < l.PixelBytes || d.ProbeOffset > d.Bytes-ProbeBytes {
		return fmt.Errorf("device: probe at %d of %d bytes, behind %d bytes of pixels", d.ProbeOffset, d.Bytes, l.PixelBytes)
	}
	return nil
}
