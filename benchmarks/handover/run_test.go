// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// tiny is a whole run in a few seconds.
func tiny(dir string) Options {
	return Options{
		Out: dir, Sizes: []int{8, 40_000}, Rates: []float64{1000, 0},
		Wakes: []negotiate.WakeKind{negotiate.WakeFutex, negotiate.WakePipe}, Readers: []int{1, 3},
		Duration: 80 * time.Millisecond, Repeats: 2, Seed: 7, MinFrames: 5,
	}
}

// rows reads a CSV file into maps by column.
func rows(t *testing.T, path string) []map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, r := range all[1:] {
		m := map[string]string{}
		for i, name := range all[0] {
			m[name] = r[i]
		}
		out = append(out, m)
	}
	return out
}

func number(t *testing.T, row map[string]string, column string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(row[column], 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		t.Fatalf("column %s of %v is no finite number", column, row)
	}
	return v
}

func TestRunCountsAddUp(t *testing.T) {
	o := tiny(t.TempDir())
	var out strings.Builder
	if err := benchmark(context.Background(), o, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob(filepath.Join(o.Out, "handover-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("result folders %v, want one (%v)", dirs, err)
	}
	dir := dirs[0]

	const cells = 2*2*2 + 2*2 // sizes, rates, wakes; wakes, readers
	blocks := rows(t, filepath.Join(dir, "blocks.csv"))
	if got, want := len(blocks), cells*o.Repeats*2; got != want {
		t.Errorf("%d blocks, want %d", got, want)
	}
	orders := map[string]bool{}
	for _, b := range blocks {
		orders[b["order"]] = true
		n, readers := number(t, b, "published"), number(t, b, "readers")
		if n < float64(o.MinFrames) {
			t.Errorf("%v frames in %v, want at least %d", n, b, o.MinFrames)
		}
		if got := number(t, b, "received") + number(t, b, "dropped"); got != n*readers {
			t.Errorf("received and dropped are %v of %v in %v", got, n*readers, b)
		}
		if number(t, b, "ready_to_held_p50_ns") <= 0 {
			t.Errorf("no time in %v", b)
		}
		// A few belong to the block as a whole: what a frame allocates would
		// show in the back-to-back blocks, which have hundreds of them.
		if got := number(t, b, "writer_mallocs") + number(t, b, "reader_mallocs"); got > 100*(1+readers) {
			t.Errorf("%v allocations in %v", got, b)
		}
		// One system call wakes all futex readers, one each pipe reader.
		if wakes := number(t, b, "futex_wakes"); wakes > n {
			t.Errorf("%v futex wakes for %v frames in %v", wakes, n, b)
		}
		if wakes := number(t, b, "pipe_wakes"); wakes > n*readers {
			t.Errorf("%v pipe wakes for %v frames in %v", wakes, n, b)
		}
	}
	if len(orders) != len(blocks) {
		t.Errorf("%d different places in the order of %d blocks", len(orders), len(blocks))
	}

	sums := rows(t, filepath.Join(dir, "throughput.csv"))
	if got, want := len(sums), cells*2; got != want {
		t.Errorf("%d rows of throughput, want %d", got, want)
	}
	for _, s := range sums {
		if number(t, s, "frames_per_s") <= 0 || number(t, s, "writer_cpu_ns_per_frame") < 0 {
			t.Errorf("not possible: %v", s)
		}
	}

	metricsOf := map[string]int{}
	for _, l := range rows(t, filepath.Join(dir, "latency.csv")) {
		metricsOf[l["metric"]]++
		n := number(t, l, "count")
		if n <= 0 || number(t, l, "p50") > number(t, l, "p99") || number(t, l, "p99") > number(t, l, "max") {
			t.Errorf("no distribution: %v", l)
		}
		if has := l["p999"] != ""; has != (n >= 10_000) {
			t.Errorf("p99.9 of %v samples: %v", n, l)
		}
	}
	for m, want := range map[metric]int{metricHeld: cells * 2, metricPublish: cells * 2} {
		if got := metricsOf[string(m)]; got != want {
			t.Errorf("%d rows of %s, want %d", got, m, want)
		}
	}
	for _, m := range []metric{metricFirst, metricLast, metricSpread} {
		if got, want := metricsOf[string(m)], len(o.Wakes)*2; got != want { // of the one cell with several readers
			t.Errorf("%d rows of %s, want %d", got, m, want)
		}
	}

	held := 0
	for _, r := range rows(t, filepath.Join(dir, "ratios.csv")) {
		if number(t, r, "min") > number(t, r, "median") || number(t, r, "median") > number(t, r, "max") {
			t.Errorf("no median: %v", r)
		}
		if r["quantity"] == "ready_to_held_p50" {
			held++
			if r["repeats"] != strconv.Itoa(o.Repeats) {
				t.Errorf("ratio over %s repeats, want %d", r["repeats"], o.Repeats)
			}
		}
	}
	if held != cells {
		t.Errorf("%d ratios of the median time, want %d", held, cells)
	}

	doc, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m meta
	if err := json.Unmarshal(doc, &m); err != nil {
		t.Fatal(err)
	}
	if m.Kernel == "" || m.Cores < 1 || m.Go == "" || m.Options.Seed != o.Seed || m.Interrupted || m.RunID != filepath.Base(dir) {
		t.Errorf("meta.json says %+v", m)
	}
	for _, want := range []string{"ready to held, futex", "back to back, pipe", "fan-out, pipe", "seed 7"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("printed tables lack %q", want)
		}
	}
	if strings.ContainsRune(out.String(), '\r') {
		t.Error("progress was printed to what is no terminal")
	}
}

// Progress is written before each pair of blocks, which makes it the place to
// stop a run from.
func TestStoppedRunKeepsWhatWasMeasured(t *testing.T) {
	o := tiny(t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := &results{}
	p := &progress{out: writerFunc(func(b []byte) (int, error) {
		if strings.Contains(string(b), "repeat 2") {
			cancel()
		}
		return len(b), nil
	}), live: true}
	if err := measureAll(ctx, o, r, p); err != nil {
		t.Fatal(err)
	}
	if len(r.cells) == 0 {
		t.Fatal("nothing was kept")
	}
	dir, err := writeResults(o.Out, r, newMeta(o))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range rows(t, filepath.Join(dir, "blocks.csv")) {
		if b["repeat"] != "0" {
			t.Errorf("block of a repeat that was stopped: %v", b)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestStoppedBeforeAnything(t *testing.T) {
	o := tiny(t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := benchmark(ctx, o, io.Discard, io.Discard); err == nil {
		t.Error("a run without results is reported as a success")
	}
	left, err := os.ReadDir(o.Out)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestReaderThatDiesEndsTheBlock(t *testing.T) {
	shared, err := newShared("board", boardBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	dead := new(atomic.Bool)
	c, err := startChild(shared, dead, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFloor(8)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	h, err := startHost(8, 1)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{writer: newWriter(boardIn(shared.Data), dead), children: []*child{c}}
	first := cell{Phase: phaseHandover, Size: 8, Wake: negotiate.WakeFutex, Readers: 1}
	if _, err := b.measureBlock(context.Background(), h, f, first, sideCamd, task{minFrames: 5}, nil); err != nil {
		t.Fatal(err)
	}
	over := make(chan error)
	began := b.writer.board.ack.Load()
	go func() {
		_, err := b.measureBlock(context.Background(), h, f, first, sideCamd, task{duration: time.Hour}, nil)
		over <- err
	}()
	for ack := &b.writer.board.ack; ack.Load() == began; {
		linux.FutexWait(futexOf(ack), began, time.Second)
	}
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-over; !errors.Is(err, errReaderGone) {
		t.Errorf("error %v, want %v", err, errReaderGone)
	}
	if err := h.stop(); err != nil {
		t.Error(err)
	}
	if err := c.stop(); err == nil {
		t.Error("a killed reader is said to have ended well")
	}
}
