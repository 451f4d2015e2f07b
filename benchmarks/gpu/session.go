// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// step is a part of the check.
type step struct {
	name  string
	limit time.Duration
	do    func(ctx context.Context, r *session) error
}

// pick is the steps that are named, or all.
func pick(all []step, names string) ([]step, error) {
	if names == "" {
		return all, nil
	}
	var out []step
	for _, name := range strings.Split(names, ",") {
		i := slices.IndexFunc(all, func(s step) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no step %q", name)
		}
		out = append(out, all[i])
	}
	return out, nil
}

// session is one run of the check.
type session struct {
	id, own, programs, out string
	library, found         string // as given, "" the system's; its file

	quick     bool
	simulated bool
	tmp       string // gone afterwards
	log       *os.File
	checks    *table
	failed    int
	step      string // that runs
	began     time.Time
}

// open makes folders and the first files.
func (r *session) open() (err error) {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	for _, p := range []string{"camd", "camsub", "reader", "baseline"} {
		if _, err := os.Stat(filepath.Join(r.programs, p)); err != nil {
			return fmt.Errorf("%w; benchmarks/gpu/run -build FOLDER makes the programs", err)
		}
	}
	if r.tmp, err = os.MkdirTemp("", "camd-gpu-"); err != nil {
		return err
	}
	if r.log, err = os.Create(filepath.Join(r.out, "log.txt")); err != nil {
		return err
	}
	r.checks, err = r.table("checks.csv", "step", "case", "result", "seconds", "detail")
	return err
}

func (r *session) close() {
	_ = r.log.Close()
	r.checks.close()
	_ = os.RemoveAll(r.tmp)
}

// say prints a line, marked where there is no GPU.
func (r *session) say(format string, args ...any) {
	mark := ""
	if r.simulated {
		mark = "SIMULATED  "
	}
	fmt.Printf(mark+format+"\n", args...)
}

// check records a case: err nil is a pass.
func (r *session) check(name, detail string, err error) {
	result := "ok"
	if err != nil {
		result, detail = "FAILED", strings.ReplaceAll(err.Error(), "\n", " | ")
		r.failed++
	}
	r.say("%-12s %-34s %-6s %s", r.step, name, result, detail)
	r.checks.row(r.step, name, result, fmt.Sprintf("%.1f", time.Since(r.began).Seconds()), detail)
}

// all runs the steps.
func (r *session) all(ctx context.Context, wanted []step) int {
	for _, s := range wanted {
		r.step, r.began = s.name, time.Now()
		if ctx.Err() != nil {
			r.check("not begun", "", context.Cause(ctx))
			continue
		}
		limited, cancel := context.WithTimeout(ctx, s.limit)
		err := s.do(limited, r)
		switch {
		case ctx.Err() != nil:
			err = errors.Join(errors.New("the check's time is over, or it was stopped"), err)
		case limited.Err() != nil:
			err = errors.Join(fmt.Errorf("not within %v", s.limit), err)
		}
		cancel()
		if err != nil {
			r.check("the step", "", err)
		}
	}
	r.step, r.began = "end", time.Now()
	if r.simulated {
		reports, err := os.ReadFile(filepath.Join(r.tmp, "gpu", "reports.jsonl"))
		if err == nil && len(reports) > 0 {
			err = errors.New(string(reports))
		} else if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		r.check("rules of the driver", "none was broken", err)
	}
	if r.failed > 0 {
		r.say("%d checks FAILED; results: %s", r.failed, r.out)
		return 1
	}
	r.say("all checks passed; results: %s", r.out)
	if r.simulated {
		r.say("nothing here was measured on a GPU")
	}
	return 0
}
