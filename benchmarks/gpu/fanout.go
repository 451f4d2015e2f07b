// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
)

// fanout has 1, 4 and 8 readers of one stream, and 4 beside one that sits on
// every frame: neither the camera nor the others may notice.
func fanout(ctx context.Context, r *session) error {
	t, err := r.table("fanout.csv", "readers", "slow_readers", "reader", "frames", "missed", "publish_to_held_p50_ns", "publish_to_held_p99_ns",
		"published", "dropped", "no_slot")
	if err != nil {
		return err
	}
	defer t.close()
	duration := "10s"
	if r.quick {
		duration = "2s"
	}
	for _, c := range []struct{ readers, slow int }{{1, 0}, {4, 0}, {8, 0}, {4, 1}} {
		name := fmt.Sprintf("%d readers, %d slow", c.readers, c.slow)
		detail, err := r.fan(ctx, t, c.readers, c.slow, duration)
		r.check(name, detail, err)
	}
	return nil
}

func (r *session) fan(ctx context.Context, t *table, readers, slow int, duration string) (detail string, err error) {
	camera := "test=pattern,1920x1080@120,encoding=rgb8"
	if r.quick {
		camera = "test=pattern,640x480@60,encoding=rgb8"
	}
	d, err := r.camd(ctx, camera)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	for range slow {
		p, err := r.start(ctx, "camsub", "hz", stream, "--require", "cuda", "--hold", "200ms")
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, p.stop()) }()
	}
	var all []*process
	for range readers {
		p, err := r.start(ctx, "camsub", "latency", stream, "--require", "cuda", "--duration", duration, "--format", "csv")
		if err != nil {
			return "", err
		}
		all = append(all, p)
	}
	var rows [][]string
	var failure error
	for i, p := range all {
		if err := p.wait(); err != nil {
			failure = errors.Join(failure, err)
			continue
		}
		f, err := handover(p.out.String())
		if err != nil {
			failure = errors.Join(failure, err)
			continue
		}
		rows = append(rows, append([]string{fmt.Sprint(readers), fmt.Sprint(slow), fmt.Sprint(i + 1)}, f...))
	}
	s, err := d.stream(ctx)
	if err := errors.Join(failure, err); err != nil {
		return "", err
	}
	frames := 0
	for _, row := range rows {
		var n int
		fmt.Sscan(row[3], &n)
		frames += n
		if r.simulated {
			row[5], row[6] = "", ""
		}
		t.row(append(row, fmt.Sprint(s.Published), fmt.Sprint(s.dropped()), fmt.Sprint(s.DeviceRing.NoSlot))...)
	}
	if s.DeviceRing.NoSlot > 0 || s.DeviceRing.Errors > 0 {
		return "", fmt.Errorf("%d frames found no slot on the GPU, %d failed", s.DeviceRing.NoSlot, s.DeviceRing.Errors)
	}
	first := rows[0]
	return fmt.Sprintf("%d frames; of the first reader publish to held p50 %s, p99 %s; camera dropped %d", frames, micros(first[5]), micros(first[6]), s.dropped()), nil
}

// handover is frames, missed, p50 and p99 of camsub latency's CSV.
func handover(out string) ([]string, error) {
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("no table: %w", err)
	}
	column := make(map[string]int)
	for i, name := range rows[0] {
		column[name] = i
	}
	for _, row := range rows[1:] {
		if row[column["metric"]] == "publish_to_held" {
			return []string{row[column["count"]], row[column["dropped"]], row[column["p50"]], row[column["p99"]]}, nil
		}
	}
	return nil, errors.New("no row publish_to_held")
}
