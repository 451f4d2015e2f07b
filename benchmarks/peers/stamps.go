// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/seed-3c7e7623/camd/internal/bench"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Bounds of what a program of a cell may write.
const (
	maxStamps     = 1 << 20
	maxStampBytes = maxStamps * 64
)

// stamps is what a program of a cell noted.
type stamps struct {
	CPU  int64      // processor time in nanoseconds
	Span int64      // within so many
	Rows [][3]int64 // of a publisher: stamp, returned, 0; of a subscriber: stamp, usable, read
}

var errStamps = errors.New("a program of the cell wrote something else than its times")

// parseStamps reads a file of columns integers a line; the first line is "cpu",
// processor time and the time in which it was used, all in nanoseconds.
func parseStamps(text []byte, columns int) (*stamps, error) {
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	var head [3]int64
	first, ok := bytes.CutPrefix(lines[0], []byte("cpu "))
	if !ok || !integers(first, head[:2]) || head[1] < 0 {
		return nil, fmt.Errorf("%w: line 1 is %.40q", errStamps, lines[0])
	}
	if len(lines) > maxStamps {
		return nil, fmt.Errorf("%w: %d lines", errStamps, len(lines))
	}
	s := &stamps{CPU: head[0], Span: head[1], Rows: make([][3]int64, len(lines)-1)}
	for i, line := range lines[1:] {
		row := s.Rows[i][:columns]
		if !integers(line, row) {
			return nil, fmt.Errorf("%w: line %d is %.40q", errStamps, i+2, line)
		}
		for k := 1; k < columns; k++ {
			if row[k] < row[k-1] {
				return nil, fmt.Errorf("%w: line %d goes back in time: %.40q", errStamps, i+2, line)
			}
		}
	}
	return s, nil
}

// integers reads exactly as many, none below 0, with one blank between two.
func integers(text []byte, to []int64) bool {
	fields := bytes.Split(text, []byte(" "))
	if len(fields) != len(to) {
		return false
	}
	for i, f := range fields {
		n, err := strconv.ParseUint(string(f), 10, 63)
		if err != nil {
			return false
		}
		to[i] = int64(n)
	}
	return true
}

// readStamps reads the file of a program.
func readStamps(path string, columns int) (*stamps, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxStampBytes {
		return nil, fmt.Errorf("%w: %d bytes", errStamps, info.Size())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseStamps(text, columns)
}

// load is the processor time in hundredths of per cent of one core.
func (s *stamps) load() []int64 {
	if s.Span == 0 {
		return nil
	}
	return []int64{int64(float64(s.CPU)/float64(s.Span)*10_000 + 0.5)}
}

// result joins what publisher and subscriber noted: stamps are the numbers of
// payloads. Received and dropped ones are together all that were published
// between the first received one and the last.
func result(c cell, warmup int, published, received *stamps) (*bench.Result, error) {
	number := make(map[int64]uint64, len(published.Rows))
	for i, row := range published.Rows {
		if _, twice := number[row[0]]; twice {
			return nil, fmt.Errorf("%w: two payloads have the stamp %d", errStamps, row[0])
		}
		number[row[0]] = uint64(i + 1)
	}
	peer := negotiate.Backend(c.Peer)
	// A floor, too, has no other stamps than one.
	r := &bench.Result{Phase: c.name(), Asked: peer, Size: c.Size, Floor: true, Warmup: warmup, Touched: true}
	last := uint64(0)
	for _, row := range received.Rows {
		n, ok := number[row[0]]
		switch {
		case !ok:
			return nil, fmt.Errorf("%w: nobody published a payload with the stamp %d", errStamps, row[0])
		case n <= last:
			r.Problems = append(r.Problems, fmt.Sprintf("payload %d came after payload %d", n, last))
		}
		last = n
		r.Samples = append(r.Samples, bench.Sample{Sequence: n, ReadyNanos: row[0], UsableNanos: row[1], ReadNanos: row[2], Backend: peer})
	}
	r.Loads = bench.Loads{Subscriber: received.load(), Publisher: published.load()}
	return r, nil
}
