// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// readerVariable makes this program a reader instead of the benchmark.
const readerVariable = "CAMD_HANDOVER_READER"

// Descriptors that a reader finds open.
const (
	boardFD = 3 + iota
	samplesFD
	pipeFD // read end of the floor's wake-up pipe
)

// order is one line to a reader: a block to take part in, or with no side to
// end its subscription.
type order struct {
	Side   side               `json:"side,omitempty"`
	Dir    string             `json:"dir,omitempty"` // runtime directory
	Stream string             `json:"stream,omitempty"`
	Wake   negotiate.WakeKind `json:"wake,omitempty"`
	First  uint32             `json:"first,omitempty"` // number of the block's first frame
	Ack    bool               `json:"ack,omitempty"`
}

// report is one line from a reader. It sends two for each block: ready, then
// the counts.
type report struct {
	Ready    bool   `json:"ready,omitempty"`
	Err      string `json:"err,omitempty"`
	Received uint64 `json:"received"`
	Dropped  uint64 `json:"dropped"` // gaps between numbers
	CPUNanos int64  `json:"cpu_ns"`
	Mallocs  uint64 `json:"mallocs"`
}

// reader is the process that receives.
type reader struct {
	board   *board
	samples []int64
	pipe    *os.File
	sub     *client.Subscription
	subOf   order // what sub was made for
}

// readerMain obeys orders on standard input until its end.
func readerMain() int {
	signal.Ignore(unix.SIGINT, unix.SIGTERM) // the writer ends us by the end of input
	debug.SetGCPercent(-1)
	r := &reader{}
	if err := r.open(); err != nil {
		fmt.Fprintf(os.Stderr, "handover reader: %v\n", err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	orders := make(chan order)
	go func() {
		defer close(orders)
		defer cancel() // a block under way has nobody to report to
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			var o order
			if json.Unmarshal(in.Bytes(), &o) != nil {
				return
			}
			orders <- o
		}
	}()
	out := json.NewEncoder(os.Stdout)
	for o := range orders {
		runtime.GC()
		if err := r.obey(ctx, o, out); err != nil {
			_ = out.Encode(report{Err: err.Error()})
			return 1
		}
	}
	_ = r.unsubscribe()
	return 0
}

func (r *reader) open() error {
	b, err := linux.MapFile(boardFD, linux.PageRound(boardBytes), true)
	if err != nil {
		return err
	}
	s, err := linux.MapFile(samplesFD, linux.PageRound(sampleBytes), true)
	if err != nil {
		return err
	}
	r.board, r.samples = boardIn(b), samplesIn(s)
	// As the client does it, so that os.File waits through the poller.
	if err := unix.SetNonblock(pipeFD, true); err != nil {
		return err
	}
	r.pipe = os.NewFile(pipeFD, "wake-up pipe")
	return nil
}

func (r *reader) obey(ctx context.Context, o order, out *json.Encoder) error {
	if o.Side == "" {
		if err := r.unsubscribe(); err != nil {
			return err
		}
		return out.Encode(report{})
	}
	if o.Side == sideCamd {
		if err := r.subscribe(ctx, o); err != nil {
			return err
		}
	}
	seen := r.board.word.Load()
	if err := out.Encode(report{Ready: true}); err != nil {
		return err
	}
	var rep report
	before := usage()
	var err error
	switch {
	case o.Side == sideCamd:
		err = r.readCamd(ctx, o, &rep)
	case o.Wake == negotiate.WakePipe:
		err = r.readPipe(o, seen, &rep)
	default:
		r.readFutex(ctx, o, seen, &rep)
	}
	after := usage()
	if err != nil {
		return err
	}
	rep.CPUNanos = after.cpuNanos - before.cpuNanos
	rep.Mallocs = after.mallocs - before.mallocs
	return out.Encode(rep)
}

func (r *reader) subscribe(ctx context.Context, o order) error {
	of := order{Dir: o.Dir, Stream: o.Stream, Wake: o.Wake}
	if r.sub != nil && r.subOf == of {
		return nil
	}
	if err := r.unsubscribe(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	sub, err := client.Subscribe(ctx, o.Stream,
		client.WithRuntimeDir(o.Dir), client.WithWake(o.Wake), client.WithCredit(1),
		client.WithName("handover"), client.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	r.sub, r.subOf = sub, of
	return nil
}

func (r *reader) unsubscribe() error {
	if r.sub == nil {
		return nil
	}
	err := r.sub.Close()
	r.sub = nil
	return err
}

// take books a frame. It reports whether the block is over.
func (r *reader) take(o *order, rep *report, seen *uint32, number uint32, nanos int64) bool {
	if i := number - o.First; i < uint32(len(r.samples)) {
		r.samples[i] = max(nanos, 1)
	}
	rep.Received++
	rep.Dropped += uint64(number - *seen - 1)
	*seen = number
	if o.Ack {
		r.board.ack.Store(number)
		linux.FutexWake(futexOf(&r.board.ack), 1)
	}
	return r.board.last.Load() == number
}

// readCamd is a program as any other: held is when Next has returned.
func (r *reader) readCamd(ctx context.Context, o order, rep *report) error {
	seen := o.First - 1
	for {
		f, err := r.sub.Next(ctx)
		held := linux.Monotonic()
		if err != nil {
			return err
		}
		m := f.Meta()
		f.Release()
		number := uint32(m.DriverSequence)
		if int32(number-o.First) < 0 {
			continue // the retained frame of an earlier block
		}
		if r.take(&o, rep, &seen, number, held-m.ReadyNanos) {
			return nil
		}
	}
}

// readFutex is the floor: the same wait as the client's, and nothing else.
func (r *reader) readFutex(ctx context.Context, o order, old uint32, rep *report) {
	seen := o.First - 1
	for ctx.Err() == nil {
		number := r.board.word.Load()
		if number == old {
			linux.FutexWait(futexOf(&r.board.word), old, 100*time.Millisecond)
			continue
		}
		held := linux.Monotonic()
		old = number
		if r.take(&o, rep, &seen, number, held-r.board.stamp(number).Load()) {
			return
		}
	}
}

// readPipe is the floor of event loops.
func (r *reader) readPipe(o order, old uint32, rep *report) error {
	seen := o.First - 1
	var b [64]byte
	for {
		number := r.board.word.Load()
		if number == old {
			if _, err := r.pipe.Read(b[:]); err != nil {
				return err
			}
			continue
		}
		held := linux.Monotonic()
		old = number
		if r.take(&o, rep, &seen, number, held-r.board.stamp(number).Load()) {
			return nil
		}
	}
}

// spent is what a process has used so far.
type spent struct {
	cpuNanos int64 // user and system
	mallocs  uint64
}

func usage() spent {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return spent{cpuNanos: math.MinInt64}
	}
	return spent{cpuNanos: u.Utime.Nano() + u.Stime.Nano(), mallocs: m.Mallocs}
}
