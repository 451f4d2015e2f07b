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

// OfClient begins the details that a client gave for its own side.
const OfClient = "the client: "

// ClientDetails is what a client said of its own side, in parentheses after a
// space; "" if it said nothing.
func ClientDetails(rejected []Rejected) string {
	var all []string
	for _, r := range rejected {
		if strings.HasPrefix(r.Detail, OfClient) {
			all = append(all, r.Detail)
		}
	}
	if all == nil {
		return ""
	}
	return " (" + strings.Join(all, "; ") + ")"
}
