// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import "testing"

func TestSummary(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []Rejected
		want string
	}{
		{"none", nil, ""},
		{"one", []Rejected{{Backend: BackendCUDA, Reason: ReasonNoDriver, Detail: "not shown"}}, "cuda: no_driver"},
		{"two", []Rejected{{Backend: BackendCUDA, Reason: ReasonNotOffered}, {Backend: BackendSHM, Reason: ReasonRingFull}}, "cuda: not_offered, shm: ring_full"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Summary(c.in); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
