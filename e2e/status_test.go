// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// status is what scripts read from camd status --format json.
type status struct {
	PID     int               `json:"pid"`
	Session string            `json:"session"`
	Dir     string            `json:"runtime_dir"`
	Cameras []cameraStatus    `json:"cameras"`
	Streams []streamStatus    `json:"streams"`
	Refused map[string]uint64 `json:"refused"`
	Zenoh   *zenohStatus      `json:"zenoh"`
	CUDA    *struct {
		Reason    negotiate.Reason `json:"reason"`
		Detail    string           `json:"detail"`
		Rings     int              `json:"rings"`
		RingBytes int64            `json:"ring_bytes"`
	} `json:"cuda"`
}

type cameraStatus struct {
	Name     string `json:"name"`
	State    string `json:"state"`
	Problem  string `json:"problem"`
	Restarts uint64 `json:"restarts"`
	Frames   uint64 `json:"frames"`
}

type streamStatus struct {
	Name       string            `json:"name"`
	Epoch      uint64            `json:"epoch"`
	Subscribed int               `json:"subscribers"`
	Sequence   uint64            `json:"sequence"`
	Published  uint64            `json:"published"`
	Dropped    map[string]uint64 `json:"dropped"`
	HostCopies *float64          `json:"host_copies"`
	AgeMS      int64             `json:"age_ms"`
	Ring       *struct {
		Slots      int    `json:"slots"`
		Free       int    `json:"free"`
		Leased     int    `json:"leased"`
		FutexWakes uint64 `json:"futex_wakes"`
		PipeWakes  uint64 `json:"pipe_wakes"`
		Ended      uint64 `json:"ended"`
	} `json:"ring"`
	DeviceRing *struct {
		Leased int    `json:"leased"`
		Frames uint64 `json:"frames"`
		NoSlot uint64 `json:"no_slot"`
		Errors uint64 `json:"errors"`
	} `json:"device_ring"`
	Subscribers []subscriberStatus `json:"subscribers_detail"`
}

type subscriberStatus struct {
	PID         int    `json:"pid"`
	Backend     string `json:"backend"`
	Wake        string `json:"wake"`
	Credit      int    `json:"credit"`
	Held        int    `json:"held"`
	Granted     uint64 `json:"granted"`
	Overwritten uint64 `json:"overwritten"`
	Skipped     uint64 `json:"skipped"`
	Released    uint64 `json:"released"`
	Hoarding    bool   `json:"hoarding"`
	Evicted     string `json:"evicted"`
}

// dropped is the sum over all reasons.
func (s streamStatus) dropped() uint64 {
	var n uint64
	for _, d := range s.Dropped {
		n += d
	}
	return n
}

// subscriber finds the subscription of a process.
func (s streamStatus) subscriber(pid int) (subscriberStatus, bool) {
	for _, b := range s.Subscribers {
		if b.PID == pid {
			return b, true
		}
	}
	return subscriberStatus{}, false
}

// balanced checks what holds at any moment, however late a reader was
// scheduled: each frame that was granted was replaced by a newer one, was taken
// and returned, is held, or waits.
func (b subscriberStatus) balanced(t testing.TB) {
	t.Helper()
	if waiting := int64(b.Granted) - int64(b.Overwritten) - int64(b.Released) - int64(b.Held); waiting < 0 || waiting > 1 {
		t.Errorf("subscriber %d: granted %d, overwritten %d, released %d, held %d: %d wait in a mailbox for one",
			b.PID, b.Granted, b.Overwritten, b.Released, b.Held, waiting)
	}
}

// statusText asks camd status.
func (d *daemon) statusText(args ...string) string {
	d.t.Helper()
	p := start(d.t, nil, built.camd, append([]string{"status", "--runtime-dir", d.dir}, args...)...)
	p.quiet = true
	if code := p.wait(); code != 0 {
		d.t.Fatalf("camd status: exit code %d: %s", code, p.err.String())
	}
	return p.out.String()
}

func (d *daemon) status() status {
	d.t.Helper()
	var all []status
	if err := json.Unmarshal([]byte(d.statusText("--format", "json")), &all); err != nil {
		d.t.Fatalf("camd status --format json: %v", err)
	}
	if len(all) != 1 {
		d.t.Fatalf("camd status: %d daemons, want 1", len(all))
	}
	return all[0]
}

// stream is the status of the only stream.
func (d *daemon) stream() streamStatus {
	d.t.Helper()
	st := d.status()
	if len(st.Streams) != 1 {
		d.t.Fatalf("camd status: %d streams, want 1", len(st.Streams))
	}
	return st.Streams[0]
}

// subscriber waits until a process is subscribed and has been granted at least
// so many frames.
func (d *daemon) subscriber(p *process, granted uint64) subscriberStatus {
	d.t.Helper()
	var found subscriberStatus
	eventually(d.t, fmt.Sprintf("%s %d has %d frames", p.name, p.pid(), granted), func() (bool, string) {
		b, ok := d.stream().subscriber(p.pid())
		found = b
		if p.ended() {
			d.t.Fatalf("%s ended: %s", p.name, p.err.String())
		}
		return ok && b.Granted >= granted, fmt.Sprintf("subscribed %v, granted %d", ok, b.Granted)
	})
	return found
}

// subscribed waits for a number of subscribers.
func (d *daemon) subscribed(n int) {
	d.t.Helper()
	eventually(d.t, fmt.Sprintf("%d subscribers", n), func() (bool, string) {
		got := d.stream().Subscribed
		return got == n, fmt.Sprint(got)
	})
}

// advance waits until so many more frames were published.
func (d *daemon) advance(frames uint64) streamStatus {
	d.t.Helper()
	from := d.stream().Published
	var s streamStatus
	eventually(d.t, fmt.Sprintf("%d more frames", frames), func() (bool, string) {
		s = d.stream()
		return s.Published >= from+frames, fmt.Sprint(s.Published - from)
	})
	return s
}
