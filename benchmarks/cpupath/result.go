// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/seed-3c7e7623/camd/internal/bench"
	"github.com/seed-3c7e7623/camd/internal/measure"
)

// meta is where, when and how a run was done: meta.json.
type meta struct {
	RunID       string     `json:"run_id"`
	Started     time.Time  `json:"started"`
	Ended       time.Time  `json:"ended"`
	Interrupted bool       `json:"interrupted"`
	Commit      string     `json:"commit,omitempty"` // a "+" says that files had changed
	Go          string     `json:"go"`
	Host        bench.Host `json:"host"`
	Clock       string     `json:"clock"`
	Options     Options    `json:"options"`
}

func newMeta(o Options) *meta {
	m := &meta{Started: time.Now(), Go: runtime.Version(), Host: bench.ReadHost(), Clock: bench.StampClock, Options: o}
	if head, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output(); err == nil {
		m.Commit = strings.TrimSpace(string(head))
		if changes, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output(); err != nil || len(changes) > 0 {
			m.Commit += "+"
		}
	}
	return m
}

func (m *meta) finish(interrupted bool) {
	m.Ended, m.Interrupted = time.Now(), interrupted
	m.Host.LoadAfter = bench.ReadHost().LoadBefore
}

// sum is all blocks of a side at a rate.
type sum struct {
	perSecond, publisher, hop, receiver []float64
	times                               *measure.Histogram
	sent, received, late                uint64
	topic                               topic
}

func sumOf(blocks []*block, name string, rate float64) *sum {
	s := &sum{times: measure.NewHistogram()}
	for _, b := range blocks {
		if b.Side != name || b.Rate != rate {
			continue
		}
		got := b.Readers[0]
		s.perSecond = append(s.perSecond, b.PerSecond)
		s.publisher = append(s.publisher, millis(b.PublisherCPU))
		s.hop = append(s.hop, millis(b.HopCPU))
		s.receiver = append(s.receiver, millis(b.ReceiverCPU))
		for _, t := range got.Times {
			s.times.Record(t)
		}
		s.sent, s.received, s.late = s.sent+b.Sent, s.received+got.Received, s.late+b.Late
		s.topic.Frames += b.Topic.Frames
		s.topic.Replaced += b.Topic.Replaced
		s.topic.Copies += b.Topic.Copies
		s.topic.Conversions += b.Topic.Conversions
	}
	if len(s.perSecond) == 0 {
		return nil
	}
	return s
}

// printTable prints medians over repeats; times are of all frames together.
func printTable(out io.Writer, o Options, blocks []*block) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%d bytes\tback to back\tCPU ms/frame\t\t\tmissed\t%g Hz p50\tp99\tmax\tCPU ms/frame\t\t\tmissed\t\n", o.Size, o.Rate)
	fmt.Fprintln(w, "\tframes/s\tpublisher\thop\tsubscriber\tof sent\tms\tms\tms\tpublisher\thop\tsubscriber\tof sent\t")
	for _, x := range sides {
		fast, paced := sumOf(blocks, x.Name, 0), sumOf(blocks, x.Name, o.Rate)
		if fast == nil || paced == nil {
			continue
		}
		d := paced.times.Distribution()
		fmt.Fprintf(w, "%s\t%.1f\t%s\t%d of %d\t%.2f\t%.2f\t%.2f\t%s\t%d of %d\t\n", x.Name, median(fast.perSecond), fast.cpu(), fast.missed(), fast.sent,
			millis(d.P50), millis(d.P99), millis(d.Max), paced.cpu(), paced.missed(), paced.sent)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if fast, paced := sumOf(blocks, sideCamd, 0), sumOf(blocks, sideCamd, o.Rate); fast != nil && paced != nil {
		fmt.Fprintf(out, "\ncamd gave %d frames to the network, replaced %d by newer ones, copied or converted %d\n", fast.topic.Frames+paced.topic.Frames,
			fast.topic.Replaced+paced.topic.Replaced, fast.topic.Copies+fast.topic.Conversions+paced.topic.Copies+paced.topic.Conversions)
	}
	return nil
}

func (s *sum) missed() uint64 { return s.sent - min(s.sent, s.received) }

func (s *sum) cpu() string {
	hop := "–"
	if h := median(s.hop); h >= 0 {
		hop = fmt.Sprintf("%.2f", h)
	}
	return fmt.Sprintf("%.2f\t%s\t%.2f", median(s.publisher), hop, median(s.receiver))
}

var blockHeader = []string{
	"order", "repeat", "side", "rate_hz", "sent", "late", "received", "missed", "frames_per_s",
	"publisher_cpu_ns_per_frame", "hop_cpu_ns_per_frame", "subscriber_cpu_ns_per_frame", "p50_ns", "p99_ns", "max_ns", "replaced", "copies", "conversions",
}

// write writes blocks.csv and, last, meta.json.
func write(dir string, blocks []*block, m *meta) error {
	m.RunID = filepath.Base(dir)
	rows := [][]string{blockHeader}
	for _, b := range blocks {
		h := measure.NewHistogram()
		got := b.Readers[0]
		for _, t := range got.Times {
			h.Record(t)
		}
		d := h.Distribution()
		u := func(n uint64) string { return strconv.FormatUint(n, 10) }
		i := func(n int64) string { return strconv.FormatInt(n, 10) }
		hop := ""
		if b.HopCPU >= 0 {
			hop = i(b.HopCPU)
		}
		rows = append(rows, []string{
			strconv.Itoa(b.Order), strconv.Itoa(b.Repeat), b.Side, strconv.FormatFloat(b.Rate, 'g', -1, 64), u(b.Sent), u(b.Late), u(got.Received),
			u(b.Sent - min(b.Sent, got.Received)), strconv.FormatFloat(b.PerSecond, 'f', 2, 64), i(b.PublisherCPU), hop, i(b.ReceiverCPU),
			i(d.P50), i(d.P99), i(d.Max), u(b.Topic.Replaced), u(b.Topic.Copies), u(b.Topic.Conversions),
		})
	}
	f, err := os.Create(filepath.Join(dir, "blocks.csv"))
	if err != nil {
		return err
	}
	if err := errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close()); err != nil {
		return err
	}
	doc, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, bench.MetaFile), append(doc, '\n'), 0o666)
}
