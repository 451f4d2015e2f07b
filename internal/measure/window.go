// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package measure

import "math"

// window keeps the newest limit values.
type window struct {
	values []int64
	oldest int // index of the oldest value once the window is full
	limit  int
}

// newWindow grows on demand, because a limit may be far above what comes.
func newWindow(limit int) window {
	limit = max(limit, 1)
	return window{values: make([]int64, 0, min(limit, 1024)), limit: limit}
}

func (w *window) add(v int64) {
	if len(w.values) < w.limit {
		w.values = append(w.values, v)
		return
	}
	w.values[w.oldest] = v
	w.oldest = (w.oldest + 1) % w.limit
}

func (w *window) clear() { w.values, w.oldest = w.values[:0], 0 }

func (w *window) len() int { return len(w.values) }

// first is the oldest value; the window must not be empty.
func (w *window) first() int64 { return w.values[w.oldest] }

// spread goes over the values twice, as the reference does, so that its digits
// are those of the reference.
func (w *window) spread() Spread {
	n := len(w.values)
	if n == 0 {
		return Spread{}
	}
	var sum int64
	lo, hi := w.values[0], w.values[0]
	for _, v := range w.values {
		sum += v
		lo, hi = min(lo, v), max(hi, v)
	}
	mean := float64(sum) / float64(n)
	var squares float64
	for _, v := range w.values {
		d := float64(v) - mean
		squares += d * d
	}
	return Spread{Count: uint64(n), Min: float64(lo), Mean: mean, Max: float64(hi), StdDev: math.Sqrt(squares / float64(n))}
}
