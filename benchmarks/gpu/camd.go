// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-3c7e7623/camd/client"
)

// stream is that of every camera here.
const stream = "test/color"

// camd is a running daemon with a test pattern.
type camd struct {
	r *session
	*process
}

// status is what is needed of camd's status document.
type status struct {
	CUDA struct {
		Reason    string `json:"reason"`
		RingBytes int64  `json:"ring_bytes"`
	} `json:"cuda"`
	Streams []streamStatus `json:"streams"`
}

type streamStatus struct {
	State       string            `json:"state"`
	Published   uint64            `json:"published"`
	Dropped     map[string]uint64 `json:"dropped"`
	Subscribers []struct {
		PID     int    `json:"pid"`
		Backend string `json:"backend"`
		Held    int    `json:"held"`
		Evicted string `json:"evicted"`
	} `json:"subscribers_detail"`
	DeviceRing struct {
		Leased int    `json:"leased"`
		Frames uint64 `json:"frames"`
		NoSlot uint64 `json:"no_slot"`
		Errors uint64 `json:"errors"`
	} `json:"device_ring"`
}

func (s streamStatus) dropped() (n uint64) {
	for _, d := range s.Dropped {
		n += d
	}
	return n
}

// camd starts a daemon and waits until its camera runs.
func (r *session) camd(ctx context.Context, camera string) (*camd, error) {
	dir := filepath.Join(r.tmp, "camd")
	for _, d := range []string{dir, filepath.Join(r.tmp, "gpu")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	p, err := r.start(ctx, "camd", "run", "--set", "zenoh.enabled=false", "--set", "cuda.library="+r.library, "--camera", camera)
	if err != nil {
		return nil, err
	}
	d := &camd{r, p}
	err = until(ctx, 15*time.Second, func() bool {
		s, err := d.status(ctx)
		return err == nil && len(s.Streams) > 0 && s.Streams[0].State == "running"
	})
	if err == nil {
		return d, nil
	}
	return nil, errors.Join(fmt.Errorf("camd does not run: %w: %s", err, p.err.String()), d.stop())
}

func (d *camd) status(ctx context.Context) (*status, error) {
	all, err := client.Status(ctx, client.WithRuntimeDir(filepath.Join(d.r.tmp, "camd")))
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("%d daemons answer", len(all))
	}
	s := new(status)
	return s, json.Unmarshal(all[0], s)
}

// stream is the status of the only one.
func (d *camd) stream(ctx context.Context) (streamStatus, error) {
	s, err := d.status(ctx)
	if err != nil || len(s.Streams) != 1 {
		return streamStatus{}, fmt.Errorf("no status of %s: %w", stream, err)
	}
	return s.Streams[0], nil
}
