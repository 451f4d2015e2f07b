// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import "slices"

// Backends lists the backends of this version, best first.
func Backends() []Backend { return []Backend{BackendCUDA, BackendSHM, BackendCPU} }

// Candidate is a backend of the daemon as it stands for one stream and client.
type Candidate struct {
	Backend Backend
	Reason  Reason // "" if it can be offered, else why not
	Detail  string // for people, beside Reason
}

// Restrict keeps the backends that a stream is allowed to use; every other one
// becomes a candidate that is there, but out of policy. No allowed ones at all
// is no restriction.
func Restrict(allowed []Backend, offered []Candidate) []Candidate {
	if len(allowed) == 0 {
		return offered
	}
	var out []Candidate
	for _, c := range offered {
		if slices.Contains(allowed, c.Backend) {
			out = append(out, c)
		}
	}
	for _, b := range Backends() {
		if !slices.Contains(allowed, b) {
			out = append(out, Candidate{Backend: b, Reason: ReasonPolicy, Detail: "the stream is configured without it"})
		}
	}
	return out
}

// Decide holds what a client asks for against what the daemon has. order are
// the backends to be tried, best first; rejected are the others that were
// considered, best first, each with its reason. An empty order is a refusal.
//
// Accepting cuda implies cpu, as with the buffer backends of ROS 2: a
// subscriber that wants frames on the GPU still wants them when there is
// no GPU path. A required backend implies nothing: it alone is considered, and
// it must not be missing from a list of accepted ones. Names that this version
// does not know are passed over.
func Decide(h *Hello, offered []Candidate) (order []Backend, rejected []Rejected) {
	for _, b := range Backends() {
		if h.Require != "" && h.Require != b {
			continue
		}
		c := judge(h, b, offered)
		if c.Reason == "" {
			order = append(order, b)
		} else {
			rejected = append(rejected, Rejected{Backend: b, Reason: c.Reason, Detail: c.Detail})
		}
	}
	if h.Require != "" && !slices.Contains(Backends(), h.Require) {
		rejected = append(rejected, Rejected{Backend: h.Require, Reason: ReasonNotOffered, Detail: "this camd knows no such backend"})
	}
	return order, rejected
}

func judge(h *Hello, b Backend, offered []Candidate) Candidate {
	if !accepted(h, b) {
		c := Candidate{Backend: b, Reason: ReasonNotAccepted}
		if h.Require == b {
			c.Detail = "required, but not among the accepted ones"
		}
		return c
	}
	for _, c := range offered {
		if c.Backend == b {
			return c
		}
	}
	return Candidate{Backend: b, Reason: ReasonNotOffered}
}

func accepted(h *Hello, b Backend) bool {
	switch {
	case slices.Contains(h.Accepts, b):
		return true
	case h.Require != "":
		return h.Require == b && len(h.Accepts) == 0
	default:
		return b == BackendCPU && slices.Contains(h.Accepts, BackendCUDA)
	}
}

// Better keeps those of rejected that are better than taken: what the user is
// told about when another path is used.
func Better(rejected []Rejected, taken Backend) []Rejected {
	all := Backends()
	at := slices.Index(all, taken)
	var out []Rejected
	for _, r := range rejected {
		if i := slices.Index(all, r.Backend); i >= 0 && (at < 0 || i < at) {
			out = append(out, r)
		}
	}
	return out
}
