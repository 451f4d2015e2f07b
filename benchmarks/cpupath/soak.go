// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/internal/measure"
)

// soak has camd publish cameras for a time, each with a subscriber over Zenoh,
// the first also with one by shared memory, and prints where frames went.
func soak(ctx context.Context, o Options, stdout io.Writer) (err error) {
	r, err := newRig(o)
	if err != nil {
		return err
	}
	defer r.close()
	j := job{Size: o.Size, Router: r.at, Peer: o.Peer, Camera: "camera", Dir: filepath.Join(r.dir, "run")}
	camd := j
	camd.Role, camd.Profile = roleCamd, o.profile("camd")
	var reads, writes []*os.File
	defer func() {
		for _, f := range writes {
			_ = f.Close()
		}
	}()
	backends := []string{"cpu", "shm"}
	for i := range o.Cameras {
		n := 1
		if i == 0 {
			n = len(backends)
		}
		camd.Readers = append(camd.Readers, n)
		for range n {
			a, b, err := os.Pipe()
			if err != nil {
				return err
			}
			reads, writes = append(reads, a), append(writes, b)
		}
	}
	publisher, err := r.child("camd", camd, reads...)
	if err != nil {
		return err
	}
	var readers []*process
	for i, n := range camd.Readers {
		for k := range n {
			c := j
			c.Role, c.Stream, c.Backend = roleClient, j.stream(i), backends[k]
			c.Profile = o.profile(fmt.Sprintf("%s-%d", backends[k], i))
			f := writes[0]
			writes = writes[1:]
			p, err := r.child(fmt.Sprintf("subscriber of %s by %s", c.Stream, c.Backend), c, f)
			if err != nil {
				return err
			}
			readers = append(readers, p)
		}
	}
	warm := &side{name: "soak", publisher: publisher}
	if err := warm.warm(); err != nil {
		return err
	}
	all := append([]*process{publisher, r.router}, readers...)
	if o.Stopped {
		p, end, err := r.stopped(j)
		if err != nil {
			return err
		}
		defer end()
		all = append(all, p)
	}
	before := make([]int64, len(all))
	for i, p := range all {
		before[i] = p.cpu()
	}
	began := time.Now()
	reports, err := publisher.order(order{Rate: o.Rate, Nanos: int64(o.Soak), Fill: true})
	if err != nil || ctx.Err() != nil {
		return err
	}
	took := time.Since(began)
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "camera\tpublished\tclosest ms\tno slot\tleft in ring\treplaced\tto the network\tcopies\tby\treceived\tmissed\tp50 ms\tp99 ms\tmax ms")
	for i, x := range reports {
		left := int64(x.Sent) - int64(x.NoSlot) - int64(x.Topic.Frames) - int64(x.Topic.Replaced)
		for k, got := range x.Readers {
			h := measure.NewHistogram()
			for _, t := range got.Times {
				h.Record(t)
			}
			d := h.Distribution()
			fmt.Fprintf(w, "%s\t%d\t%.1f\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%d\t%.1f\t%.1f\t%.1f\n", j.cameraName(i), x.Sent, millis(x.Closest), x.NoSlot,
				left, x.Topic.Replaced, x.Topic.Frames, x.Topic.Copies+x.Topic.Conversions, backends[k],
				got.Received, x.Sent-min(x.Sent, got.Received), millis(d.P50), millis(d.P99), millis(d.Max))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, p := range all {
		fmt.Fprintf(stdout, "%5.1f %% of a core: %s\n", 100*float64(p.cpu()-before[i])/float64(took), p.what)
	}
	return nil
}

// stopped is one more subscriber of the first camera, which stands still until
// the end.
func (r *rig) stopped(j job) (p *process, end func(), err error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	j.Role, j.Stream, j.Backend = roleClient, j.stream(0), "cpu"
	p, err = r.child("the subscriber that stands still", j, null)
	if err != nil {
		return nil, nil, err
	}
	return p, func() { _ = p.cmd.Process.Signal(unix.SIGCONT) }, p.cmd.Process.Signal(unix.SIGSTOP)
}

// profile is the file for the profile of a process, if profiles are wanted.
func (o Options) profile(name string) string {
	if o.Profiles == "" {
		return ""
	}
	return filepath.Join(o.Profiles, name+".pprof")
}

func millis(nanos int64) float64 { return float64(nanos) / 1e6 }

// median is of figures of which there is at least one.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
