// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"fmt"
	"math"
	"strconv"
)

// number is the value of a flag between two bounds.
type number[T int | float64] struct {
	v         *T
	low, high T
}

// Number adds a flag whose value is from low to high.
func Number[T int | float64](e *Example, name, short string, v, low, high T, usage string) *T {
	n := number[T]{&v, low, high}
	e.VarP(n, name, short, usage)
	return n.v
}

func (n number[T]) String() string {
	if n.v == nil {
		return ""
	}
	return fmt.Sprint(*n.v)
}

// Type is what the help shows.
func (n number[T]) Type() string { return fmt.Sprintf("%T", n.low) }

// Set reads the value.
func (n number[T]) Set(text string) error {
	f, err := strconv.ParseFloat(text, 64)
	v := T(f)
	if err != nil || math.IsNaN(f) || f < float64(n.low) || f > float64(n.high) || float64(v) != f {
		kind := "number"
		if n.Type() == "int" {
			kind = "whole number"
		}
		return fmt.Errorf("%q: want a %s from %v to %v", text, kind, n.low, n.high)
	}
	*n.v = v
	return nil
}

// maxSize is the largest payload that an example makes.
const maxSize = 1 << 30

// Size is the only argument beside flags: a number of bytes.
func (e *Example) Size(name string) (size int, err error) {
	text, err := e.Positional(name)
	if err != nil {
		return 0, err
	}
	if err := (number[int]{&size, 0, maxSize}).Set(text); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return size, nil
}
