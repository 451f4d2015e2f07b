// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
)

// compare orders cells: fan-out last, then by wake-up, size and rate, back to
// back after every pace.
func (c cell) compare(o cell) int {
	rate := func(r float64) float64 {
		if r == 0 {
			return math.Inf(1)
		}
		return r
	}
	return cmp.Or(cmp.Compare(o.Phase, c.Phase), cmp.Compare(c.Wake, o.Wake), cmp.Compare(c.Size, o.Size),
		cmp.Compare(rate(c.Rate), rate(o.Rate)), cmp.Compare(c.Readers, o.Readers))
}

// sizeText is decimal: 4 KB are 4000 bytes.
func sizeText(n int) string {
	switch {
	case n >= 1_000_000:
		return strconv.FormatFloat(float64(n)/1e6, 'g', 4, 64) + " MB"
	case n >= 1000:
		return strconv.FormatFloat(float64(n)/1e3, 'g', 4, 64) + " KB"
	}
	return fmt.Sprintf("%d B", n)
}

func rateText(r float64) string {
	if r == 0 {
		return "back to back"
	}
	return strconv.FormatFloat(r, 'g', -1, 64) + " Hz"
}
