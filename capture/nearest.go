// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

// Nearest returns the name of known that s was probably meant to be, or "" if
// none is close enough (edit distance above a third of its length, at least 2).
func Nearest(s string, known []string) string {
	best, bestDistance := "", 1<<30
	for _, k := range known {
		d := editDistance(s, k)
		if d < bestDistance && d <= max(2, len(k)/3) && d < len(k) {
			best, bestDistance = k, d
		}
	}
	return best
}

// editDistance is the Levenshtein distance in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j]+1, row[j+1]+1, diagonal+cost)
			diagonal = row[j+1]
			row[j+1] = next
		}
	}
	return row[len(b)]
}
