// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import "strings"

// Summary is a list of rejected backends in one line, for logs and notes:
// "cuda: not_offered, shm: ring_full".
func Summary(rejected []Rejected) string {
	var b strings.Builder
	for i, r := range rejected {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(r.Backend))
		b.WriteString(": ")
		b.WriteString(string(r.Reason))
	}
	return b.String()
}
