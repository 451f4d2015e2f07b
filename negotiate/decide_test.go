// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func show(order []Backend, rejected []Rejected) string {
	var b strings.Builder
	for _, o := range order {
		fmt.Fprintf(&b, "%s ", o)
	}
	b.WriteString("|")
	for _, r := range rejected {
		fmt.Fprintf(&b, " %s:%s", r.Backend, r.Reason)
	}
	return b.String()
}

// The whole matrix: what is accepted x what is required x what is offered.
// Offered: + can be, - cannot (no_driver), absent otherwise.
func TestDecideMatrix(t *testing.T) {
	letters := map[byte]Backend{'c': BackendCUDA, 's': BackendSHM, 'p': BackendCPU}
	for _, c := range []struct{ accepts, require, offered, want string }{
		// Everything accepted.
		{"csp", "", "+c+s+p", "cuda shm cpu |"},
		{"csp", "", "-c+s+p", "shm cpu | cuda:no_driver"},
		{"csp", "", "+s+p", "shm cpu | cuda:not_offered"},
		{"csp", "", "+s", "shm | cuda:not_offered cpu:not_offered"},
		{"csp", "", "-c-s-p", "| cuda:no_driver shm:no_driver cpu:no_driver"},
		{"csp", "", "", "| cuda:not_offered shm:not_offered cpu:not_offered"},
		{"psc", "", "+p+s+c", "cuda shm cpu |"}, // the order of neither list counts
		// One accepted; cuda implies cpu.
		{"c", "", "+c+s+p", "cuda cpu | shm:not_accepted"},
		{"c", "", "-c+s+p", "cpu | cuda:no_driver shm:not_accepted"},
		{"c", "", "+s", "| cuda:not_offered shm:not_accepted cpu:not_offered"},
		{"s", "", "+c+s+p", "shm | cuda:not_accepted cpu:not_accepted"},
		{"s", "", "+c-s+p", "| cuda:not_accepted shm:no_driver cpu:not_accepted"},
		{"p", "", "+c+s+p", "cpu | cuda:not_accepted shm:not_accepted"},
		{"p", "", "+c+s", "| cuda:not_accepted shm:not_accepted cpu:not_offered"},
		// Two accepted.
		{"cs", "", "+c+s+p", "cuda shm cpu |"},
		{"cs", "", "-c-s+p", "cpu | cuda:no_driver shm:no_driver"},
		{"sp", "", "+c+s+p", "shm cpu | cuda:not_accepted"},
		{"cp", "", "+c+s-p", "cuda | shm:not_accepted cpu:no_driver"},
		// Nothing accepted.
		{"", "", "+c+s+p", "| cuda:not_accepted shm:not_accepted cpu:not_accepted"},
		// Required: alone considered, nothing implied.
		{"", "c", "+c+s+p", "cuda |"},
		{"", "c", "-c+s+p", "| cuda:no_driver"},
		{"", "c", "+s+p", "| cuda:not_offered"},
		{"", "s", "+c+s+p", "shm |"},
		{"", "p", "+c+s+p", "cpu |"},
		{"csp", "c", "+c+s+p", "cuda |"},
		{"csp", "s", "+c+s+p", "shm |"},
		{"csp", "p", "-c-s-p", "| cpu:no_driver"},
		{"c", "c", "-c+s+p", "| cuda:no_driver"},
		{"s", "c", "+c+s+p", "| cuda:not_accepted"}, // contradiction
		{"c", "p", "+c+s+p", "| cpu:not_accepted"},  // no implication
	} {
		t.Run(fmt.Sprintf("accept %s require %s offered %s", c.accepts, c.require, c.offered), func(t *testing.T) {
			h := &Hello{}
			for i := range len(c.accepts) {
				h.Accepts = append(h.Accepts, letters[c.accepts[i]])
			}
			if c.require != "" {
				h.Require = letters[c.require[0]]
			}
			var offered []Candidate
			for i := 0; i < len(c.offered); i += 2 {
				cand := Candidate{Backend: letters[c.offered[i+1]]}
				if c.offered[i] == '-' {
					cand.Reason = ReasonNoDriver
				}
				offered = append(offered, cand)
			}
			if got := show(Decide(h, offered)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestDecideNamesOfLaterVersions(t *testing.T) {
	offered := []Candidate{{Backend: "rdma"}, {Backend: BackendSHM}}
	if got := show(Decide(&Hello{Accepts: []Backend{"rdma", BackendSHM}}, offered)); got != "shm | cuda:not_accepted cpu:not_accepted" {
		t.Errorf("accepted: %s", got)
	}
	if got := show(Decide(&Hello{Require: "rdma"}, offered)); got != "| rdma:not_offered" {
		t.Errorf("required: %s", got)
	}
}

func TestRestrict(t *testing.T) {
	offered := []Candidate{{Backend: BackendSHM}, {Backend: BackendCPU, Reason: ReasonNotReady}}
	hello := func(b Backend) *Hello { return &Hello{Require: b} }
	for _, c := range []struct {
		name    string
		allowed []Backend
		require Backend
		want    string
	}{
		{"no restriction", nil, BackendSHM, "shm |"},
		{"allowed", []Backend{BackendSHM}, BackendSHM, "shm |"},
		{"not allowed", []Backend{BackendSHM}, BackendCPU, "| cpu:policy"},
		{"not allowed and not there", []Backend{BackendSHM}, BackendCUDA, "| cuda:policy"},
		{"allowed and not there", []Backend{BackendCUDA}, BackendCUDA, "| cuda:not_offered"},
		{"allowed and not ready", []Backend{BackendCPU, BackendSHM}, BackendCPU, "| cpu:not_ready"},
		{"only others allowed", []Backend{BackendCPU}, BackendSHM, "| shm:policy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := show(Decide(hello(c.require), Restrict(c.allowed, offered))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	all := &Hello{Accepts: Backends()}
	if got := show(Decide(all, Restrict([]Backend{BackendSHM}, offered))); got != "shm | cuda:policy cpu:policy" {
		t.Errorf("everything accepted: %s", got)
	}
}

func TestDecideCarriesDetail(t *testing.T) {
	_, got := Decide(&Hello{Accepts: []Backend{BackendSHM}}, []Candidate{{BackendSHM, ReasonRingFull, "8 of 8 subscribers"}})
	want := []Rejected{
		{Backend: BackendCUDA, Reason: ReasonNotAccepted},
		{BackendSHM, ReasonRingFull, "8 of 8 subscribers"},
		{Backend: BackendCPU, Reason: ReasonNotAccepted},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBetter(t *testing.T) {
	all := []Rejected{{Backend: BackendCUDA}, {Backend: BackendSHM}, {Backend: BackendCPU}, {Backend: "rdma"}}
	for taken, want := range map[Backend]string{
		BackendCUDA: "|", BackendSHM: "| cuda:", BackendCPU: "| cuda: shm:", "": "| cuda: shm: cpu:",
	} {
		if got := show(nil, Better(all, taken)); got != want {
			t.Errorf("better than %q: %s, want %s", taken, got, want)
		}
	}
}
