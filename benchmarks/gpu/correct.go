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
	"strings"
)

// abi has the test of the driver's binding go through the library: every symbol,
// the names of errors, copies on streams, memory shared within the process. Then
// the baseline, which has the structures by its own, between two processes.
func abi(ctx context.Context, r *session) error {
	if _, err := os.Stat(filepath.Join(r.programs, "driver.test")); err == nil {
		_, err := r.run(ctx, "driver.test", "-test.run", "^TestReal$", "-test.v")
		r.check("binding", "symbols, names, copies, shared memory", err)
	}
	for _, how := range ways {
		out, err := r.run(ctx, "baseline", append([]string{"--library", r.found, "--bytes", "1000000", "--frames", "20"}, how.args...)...)
		r.check(how.name, fmt.Sprintf("%d frames", max(strings.Count(out, "\n")-1, 0)), err)
	}
	return nil
}

// kinds of readers, all of which check every frame when it is taken and when it
// is released.
var kinds = []struct {
	name, program string
	args          []string
}{
	{"Go", "camsub", []string{"hz", stream, "--require", "cuda", "--verify", "--timeout", "20s", "--format", "json"}},
	{"C", "reader", []string{stream, "--require", "cuda", "--verify", "--timeout-ms", "20000"}},
	{"C, released on a stream", "reader", []string{stream, "--require", "cuda", "--verify", "--async", "--timeout-ms", "20000"}},
}

// result is what a reader says at its end.
type result struct {
	frames, torn, stale, reconnects int
}

// parse reads either kind's output.
func parse(out string) (s result, err error) {
	var j struct {
		Frames, Reconnects int
		Verify             struct{ Torn, Stale int }
	}
	if strings.HasPrefix(out, "{") {
		err = json.Unmarshal([]byte(out), &j)
		return result{j.Frames, j.Verify.Torn, j.Verify.Stale, j.Reconnects}, err
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var missed int
	_, err = fmt.Sscanf(lines[len(lines)-1], "frames %d missed %d torn %d stale %d reconnects %d", &s.frames, &missed, &s.torn, &s.stale, &s.reconnects)
	return s, err
}

// whole waits for a reader and reports what was wrong with its frames.
func whole(p *process) (result, error) {
	if err := p.wait(); err != nil {
		return result{}, err
	}
	s, err := parse(p.out.String())
	if err == nil && (s.torn > 0 || s.stale > 0 || s.frames == 0) {
		err = fmt.Errorf("%+v", s)
	}
	return s, err
}

// correctness has 1, 4 and 8 readers of each kind check frames.
func correctness(ctx context.Context, r *session) (err error) {
	camera, frames := "test=pattern,1920x1080@60,encoding=bgra8", 300
	if r.quick {
		camera, frames = "test=pattern,640x480@60,encoding=bgra8", 30
	}
	d, err := r.camd(ctx, camera)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	for _, k := range kinds {
		for _, n := range []int{1, 4, 8} {
			total, failure := 0, error(nil)
			var all []*process
			for range n {
				p, err := r.start(ctx, k.program, append(k.args, "--count", fmt.Sprint(frames))...)
				if err != nil {
					failure = errors.Join(failure, err)
					continue
				}
				all = append(all, p)
			}
			for _, p := range all {
				s, err := whole(p)
				total, failure = total+s.frames, errors.Join(failure, err)
			}
			r.check(fmt.Sprintf("%d x %s", n, k.name), fmt.Sprintf("%d frames, none torn or stale", total), failure)
		}
	}
	return nil
}
