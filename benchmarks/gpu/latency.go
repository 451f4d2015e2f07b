// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// size is that of a frame, and how often one comes.
type size struct {
	width, height int
	encoding      string
	bytes, rate   int
}

func sizes(quick bool) []size {
	all := []size{
		{320, 240, "rgb8", 320 * 240 * 3, 100},
		{1280, 720, "rgb8", 1280 * 720 * 3, 100},
		{1920, 1080, "rgb8", 1920 * 1080 * 3, 100},
		{1920, 1080, "bgra8", 1920 * 1080 * 4, 100},
		{3840, 2160, "rgb8", 3840 * 2160 * 3, 60},
		{3840, 2160, "bgra8", 3840 * 2160 * 4, 60},
	}
	if quick {
		return all[:1]
	}
	return all
}

// ways in which the baseline shares memory.
var ways = []struct {
	name string
	args []string
}{
	{"baseline", nil},
	{"baseline, open per frame", []string{"--open"}},
}

// latency measures each size by camd's cuda, by shm with an upload in the
// reader, and by the baseline; camd's figures are from its own stamps.
func latency(ctx context.Context, r *session) error {
	t, err := r.table("latency.csv", "system", "encoding", "width", "height", "bytes", "rate_hz", "frames", "missed",
		"publish_to_held_p50_ns", "publish_to_held_p99_ns", "publish_to_held_max_ns",
		"publish_to_consumed_p50_ns", "publish_to_consumed_p99_ns", "publish_to_consumed_max_ns",
		"ready_to_consumed_p50_ns", "ready_to_consumed_p99_ns", "ready_to_consumed_max_ns")
	if err != nil {
		return err
	}
	defer t.close()
	frames, warm := 300, 100 // the first ones are for the clocks of the GPU
	if r.quick {
		frames, warm = 20, 5
	}
	for _, s := range sizes(r.quick) {
		if ctx.Err() != nil {
			break
		}
		d, err := r.camd(ctx, fmt.Sprintf("test=pattern,%dx%d@%d,encoding=%s", s.width, s.height, s.rate, s.encoding))
		if err != nil {
			r.check(fmt.Sprintf("camd with %dx%d", s.width, s.height), "", err)
			continue
		}
		for _, backend := range []string{"cuda", "shm"} {
			out, err := r.run(ctx, "", "@consume", "--backend", backend, "--frames", strconv.Itoa(frames+warm))
			r.measured(t, "camd by "+backend, s, warm, out, err)
		}
		if err := d.stop(); err != nil {
			r.check("the end of camd", "", err)
		}
		for _, way := range ways {
			out, err := r.run(ctx, "baseline", append([]string{
				"--library", r.found, "--bytes", strconv.Itoa(s.bytes),
				"--frames", strconv.Itoa(frames + warm), "--interval-us", strconv.Itoa(1000000 / s.rate),
			}, way.args...)...)
			r.measured(t, way.name, s, warm, out, err)
		}
	}
	return nil
}

// measured writes a row of what a consumer printed, without its first frames.
func (r *session) measured(t *table, system string, s size, warm int, out string, failure error) {
	held, consumed, all, missed, err := stamps(out, warm)
	if err = errors.Join(failure, err); err == nil && len(all) == 0 {
		err = errors.New("no frames")
	}
	fields := []string{
		system, s.encoding, strconv.Itoa(s.width), strconv.Itoa(s.height), strconv.Itoa(s.bytes), strconv.Itoa(s.rate),
		strconv.Itoa(len(all)), strconv.Itoa(missed),
	}
	var figures []string
	for _, v := range [][]int64{held, consumed, all} {
		figures = append(figures, r.spread(v)...)
	}
	if err == nil {
		t.row(append(fields, figures...)...)
	}
	r.check(fmt.Sprintf("%s, %.1f MB", system, float64(s.bytes)/1e6),
		fmt.Sprintf("%d frames; p50: publish to held %s, to read %s, ready to read %s (p99 %s)", len(all),
			micros(figures[0]), micros(figures[3]), micros(figures[6]), micros(figures[7])), err)
}

// stamps reads sequence,ready,publish,held,consumed, in which order they must be,
// and gives the times between them of all frames but the first ones.
func stamps(out string, skip int) (held, consumed, all []int64, missed int, err error) {
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		return nil, nil, nil, 0, err
	}
	last := int64(0)
	for i, fields := range rows {
		if i <= skip || len(fields) != 5 {
			continue
		}
		var v [5]int64
		for j, f := range fields {
			if v[j], err = strconv.ParseInt(f, 10, 64); err != nil {
				return nil, nil, nil, 0, err
			}
		}
		if v[1] > v[2] || v[2] > v[3] || v[3] > v[4] {
			return nil, nil, nil, 0, fmt.Errorf("times of frame %d are out of order: %v", v[0], v[1:])
		}
		if last != 0 {
			missed += int(v[0] - last - 1)
		}
		last = v[0]
		held, consumed, all = append(held, v[3]-v[2]), append(consumed, v[4]-v[2]), append(all, v[4]-v[1])
	}
	return held, consumed, all, missed, nil
}
