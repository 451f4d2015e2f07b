// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture/pace"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// The two roles of a program.
const (
	rolePublish   = "publish"
	roleSubscribe = "subscribe"
)

// stampBytes is what the publisher writes at the begin of a payload just before
// it publishes it: CLOCK_MONOTONIC in nanoseconds, little-endian.
const stampBytes = 8

// order is what a program of a cell has to do. In every language it comes as
// nine arguments in this order.
//
// A publisher prints a line once it can be reached. It then fills, stamps and
// publishes a payload, pauses for Spacing, and does so again, until there is a
// file Stop or it has published Count. A subscriber takes Warmup payloads, reads
// them, and then notes the times of Count payloads. Both write what they noted
// to Out, as parseStamps reads it; Stop of the publisher is Out of the
// subscriber.
type order struct {
	Role    string
	Variant string
	Address string
	Size    int // bytes, at least stampBytes
	Spacing time.Duration
	Warmup  int
	Count   int
	Out     string
	Stop    string
}

// args are the arguments of a program.
func (o order) args() []string {
	return []string{
		o.Role, o.Variant, o.Address, strconv.Itoa(o.Size), strconv.FormatInt(o.Spacing.Microseconds(), 10),
		strconv.Itoa(o.Warmup), strconv.Itoa(o.Count), o.Out, o.Stop,
	}
}

var errOrder = errors.New("not an order")

func parseOrder(args []string) (o order, err error) {
	if len(args) != 9 {
		return order{}, fmt.Errorf("%w: %d arguments", errOrder, len(args))
	}
	numbers := make([]int, 4)
	for i := range numbers {
		if numbers[i], err = strconv.Atoi(args[3+i]); err != nil || numbers[i] < 0 {
			return order{}, fmt.Errorf("%w: argument %q", errOrder, args[3+i])
		}
	}
	o = order{
		Role: args[0], Variant: args[1], Address: args[2],
		Size: numbers[0], Spacing: time.Duration(numbers[1]) * time.Microsecond, Warmup: numbers[2], Count: numbers[3],
		Out: args[7], Stop: args[8],
	}
	if o.Size < stampBytes {
		return order{}, fmt.Errorf("%w: a payload of %d bytes has no room for a stamp", errOrder, o.Size)
	}
	return o, nil
}

// goVariants are the peers that this program itself is.
var goVariants = map[string]struct {
	publish   func(context.Context, *publication) error
	subscribe func(context.Context, *reception) error
}{
	"tcp":      {publishSocket("tcp"), subscribeSocket("tcp")},
	"unix":     {publishSocket("unix"), subscribeSocket("unix")},
	"camd_shm": {publishCamd, subscribeCamd},
	"camd_cpu": {publishCamd, subscribeCamd},
}

// serve is this program as a publisher or subscriber.
func serve(ctx context.Context, args []string) error {
	o, err := parseOrder(args)
	if err != nil {
		return err
	}
	v, ok := goVariants[o.Variant]
	switch {
	case ok && o.Role == rolePublish:
		return newPublication(o).run(ctx, v.publish)
	case ok && o.Role == roleSubscribe:
		return newReception(o).run(ctx, v.subscribe)
	}
	return fmt.Errorf("%w: %s %s", errOrder, o.Role, o.Variant)
}

// publication is the work of a publisher.
type publication struct {
	order
	source []byte
	noted  [][2]int64 // stamp, returned
	cpu    int64
	began  int64
}

func newPublication(o order) *publication {
	p := &publication{order: o, source: make([]byte, 64<<10), noted: make([][2]int64, 0, o.Count)}
	for i := range p.source {
		p.source[i] = byte(i*7 + 1)
	}
	return p
}

// ready says that subscribers can come.
func (p *publication) ready() { fmt.Println("ready") }

// fill writes every byte, as a device would.
func (p *publication) fill(payload []byte) {
	for rest := payload; len(rest) > 0; {
		rest = rest[copy(rest, p.source):]
	}
}

// each calls publish for one payload after the other, until somebody says stop.
// The payload is filled, and publish stamps it.
func (p *publication) each(ctx context.Context, publish func() (stamp int64, err error)) error {
	p.cpu, p.began = linuxCPU(), linux.Monotonic()
	for range p.Count {
		stamp, err := publish()
		if err != nil {
			return err
		}
		p.noted = append(p.noted, [2]int64{stamp, linux.Monotonic()})
		if p.stopped() {
			return nil
		}
		if err := pace.Until(ctx, linux.Monotonic()+int64(p.Spacing)); err != nil {
			return err
		}
	}
	return nil
}

func (p *publication) stopped() bool { return unix.Access(p.Stop, unix.F_OK) == nil }

// run ends well if the subscriber has ended, whatever that does to a connection.
func (p *publication) run(ctx context.Context, publish func(context.Context, *publication) error) error {
	err := publish(ctx, p)
	if err != nil && !p.stoppedSoon() {
		return err
	}
	return writeStamps(p.Out, linuxCPU()-p.cpu, linux.Monotonic()-p.began, len(p.noted), func(i int) []int64 { return p.noted[i][:] })
}

// stoppedSoon waits a moment for a subscriber that has closed its connection
// to write what it has.
func (p *publication) stoppedSoon() bool {
	for end := linux.Monotonic() + int64(5*time.Second); !p.stopped(); {
		if linux.Monotonic() > end || pace.Until(context.Background(), linux.Monotonic()+int64(time.Millisecond)) != nil {
			return false
		}
	}
	return true
}

// reception is the work of a subscriber.
type reception struct {
	order
	noted [][3]int64 // stamp, usable, read
	sum   uint64
	warm  int
	cpu   int64
	began int64
}

func newReception(o order) *reception {
	r := &reception{order: o, noted: make([][3]int64, o.Count)}
	for i := range r.noted { // no page of it is missing later
		r.noted[i] = [3]int64{1, 1, 1}
	}
	r.noted = r.noted[:0]
	r.begin()
	return r
}

func (r *reception) begin() { r.cpu, r.began = linuxCPU(), linux.Monotonic() }

var errSize = errors.New("payload of another size")

// take is called as soon as a payload can be read; usable is the time at that.
// done is true once there are enough.
func (r *reception) take(payload []byte, usable int64) (done bool, err error) {
	if len(payload) != r.Size {
		return false, fmt.Errorf("%w: %d bytes, not %d", errSize, len(payload), r.Size)
	}
	r.sum += touch(payload)
	read := linux.Monotonic()
	if r.warm < r.Warmup {
		if r.warm++; r.warm == r.Warmup {
			r.begin()
		}
		return false, nil
	}
	r.noted = append(r.noted, [3]int64{stampOf(payload), usable, read})
	return len(r.noted) == cap(r.noted), nil
}

func (r *reception) run(ctx context.Context, subscribe func(context.Context, *reception) error) error {
	// One that is told to end keeps what it has.
	if err := subscribe(ctx, r); err != nil && (ctx.Err() == nil || len(r.noted) == 0) {
		return err
	}
	return writeStamps(r.Out, linuxCPU()-r.cpu, linux.Monotonic()-r.began, len(r.noted), func(i int) []int64 { return r.noted[i][:] })
}

// linuxCPU is the processor time of this process in nanoseconds.
func linuxCPU() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return ts.Nano()
}

// writeStamps writes what parseStamps reads. The file is whole as soon as it is
// there.
func writeStamps(path string, cpu, span int64, n int, at func(int) []int64) error {
	f, err := os.CreateTemp(filepath.Dir(path), "part-")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	fmt.Fprintf(out, "cpu %d %d\n", cpu, span)
	for i := range n {
		for k, v := range at(i) {
			if k > 0 {
				_ = out.WriteByte(' ')
			}
			_, _ = out.WriteString(strconv.FormatInt(v, 10))
		}
		_ = out.WriteByte('\n')
	}
	// What failed before fails Flush as well.
	err = errors.Join(out.Flush(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		if e := os.Remove(f.Name()); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}
