// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import "math"

// quantiles of Student's t at 97.5 %, by degrees of freedom (any statistical
// table, for example NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2).
var quantiles = []struct{ df, t float64 }{
	{1, 12.706},
	{2, 4.303},
	{3, 3.182},
	{4, 2.776},
	{5, 2.571},
	{6, 2.447},
	{7, 2.365},
	{8, 2.306},
	{9, 2.262},
	{10, 2.228},
	{11, 2.201},
	{12, 2.179},
	{13, 2.160},
	{14, 2.145},
	{15, 2.131},
	{16, 2.120},
	{17, 2.110},
	{18, 2.101},
	{19, 2.093},
	{20, 2.086},
	{22, 2.074},
	{24, 2.064},
	{26, 2.056},
	{28, 2.048},
	{30, 2.042},
	{40, 2.021},
	{60, 2.000},
	{120, 1.980},
	{math.Inf(1), 1.960},
}

// studentT is the half width of a 95 % interval in standard errors, for df >= 1
// degrees of freedom, between the lines of the table in proportion to 1/df.
func studentT(df float64) float64 {
	for i := 1; i < len(quantiles); i++ {
		a, b := quantiles[i-1], quantiles[i]
		if df <= b.df {
			part := (1/a.df - 1/max(df, 1)) / (1/a.df - 1/b.df)
			return a.t + (b.t-a.t)*part
		}
	}
	return quantiles[len(quantiles)-1].t
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
