// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import "math"

// studentT is the half width of a 95 % interval in standard errors: the 97.5 %
// quantile of Student's t with df > 0 degrees of freedom. It halves an interval
// in which the distribution function rises.
func studentT(df float64) float64 {
	low, high := 0.0, 1.0
	for tail(high, df) > 0.025 {
		high *= 2
	}
	for range 60 {
		if mid := (low + high) / 2; tail(mid, df) > 0.025 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// tail is the share of Student's t above t >= 0 (Abramowitz and Stegun, 26.7.1
// with 26.5.27): half the regularised incomplete beta function of df/(df+t²).
func tail(t, df float64) float64 { return incompleteBeta(df/2, 0.5, df/(df+t*t)) / 2 }

// incompleteBeta is I_x(a,b), by its continued fraction (Abramowitz and Stegun,
// 26.5.8), evaluated as Lentz does.
func incompleteBeta(a, b, x float64) float64 {
	if x > (a+1)/(a+b+2) { // where the fraction converges slowly
		return 1 - incompleteBeta(b, a, 1-x)
	}
	if x <= 0 {
		return 0
	}
	ga, _ := math.Lgamma(a)
	gb, _ := math.Lgamma(b)
	gab, _ := math.Lgamma(a + b)
	front := math.Exp(gab - ga - gb + a*math.Log(x) + b*math.Log1p(-x))
	f, c, d := 1.0, 1.0, 0.0
	const tiny = 1e-300
	for i := range 1000 {
		m := float64(i / 2)
		n := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		switch {
		case i == 0:
			n = 1
		case i%2 == 0:
			n = m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		}
		if d = 1 + n*d; math.Abs(d) < tiny {
			d = tiny
		}
		if c = 1 + n/c; math.Abs(c) < tiny {
			c = tiny
		}
		d = 1 / d
		step := c * d
		f *= step
		if math.Abs(step-1) < 1e-14 {
			break
		}
	}
	return front / a * (f - 1)
}

// welch is the half width of the 95 % interval of the difference of two means
// (B. L. Welch, Biometrika 34, 1947); ok is false with fewer than two values.
func welch(a, b []float64) (half float64, ok bool) {
	if len(a) < 2 || len(b) < 2 {
		return 0, false
	}
	x, y := variance(a)/float64(len(a)), variance(b)/float64(len(b))
	if x+y == 0 {
		return 0, true
	}
	df := (x + y) * (x + y) / (x*x/float64(len(a)-1) + y*y/float64(len(b)-1))
	return studentT(df) * math.Sqrt(x+y), true
}

// variance is that of a sample, divided by n-1.
func variance(v []float64) float64 {
	m := average(v)
	var sum float64
	for _, x := range v {
		sum += (x - m) * (x - m)
	}
	return sum / float64(len(v)-1)
}

func average(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
