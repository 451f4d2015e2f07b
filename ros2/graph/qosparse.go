// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseQoS reads the text of a token, in which a value that is left out is the
// default. It fails with [ErrQoS].
func ParseQoS(s string) (QoS, error) {
	p := qosParser{text: s}
	parts := strings.Split(s, ":")
	if len(parts) != 6 {
		return QoS{}, fmt.Errorf("%w: %.100q has %d parts, want 6", ErrQoS, s, len(parts))
	}
	var q QoS
	q.Reliability = Reliability(p.number("reliability", parts[0], uint64(Reliable), uint64(ReliabilityBestAvailable)))
	q.Durability = Durability(p.number("durability", parts[1], uint64(Volatile), uint64(DurabilityBestAvailable)))
	if c := p.split("history", parts[2], 2); c != nil {
		q.History = History(p.number("history", c[0], uint64(KeepLast), uint64(HistoryUnknown)))
		q.Depth = int(p.number("depth", c[1], DefaultDepth, math.MaxInt))
	}
	q.Deadline = p.duration("deadline", p.split("deadline", parts[3], 2))
	q.Lifespan = p.duration("lifespan", p.split("lifespan", parts[4], 2))
	if c := p.split("liveliness", parts[5], 3); c != nil {
		q.Liveliness = Liveliness(p.number("liveliness", c[0], uint64(Automatic), uint64(LivelinessBest)))
		q.Lease = p.duration("lease", c[1:])
	}
	if p.err != nil {
		return QoS{}, p.err
	}
	return q, nil
}

// qosParser keeps the first error.
type qosParser struct {
	text string
	err  error
}

func (p *qosParser) fail(what, s string) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %.100q: %s %.40q", ErrQoS, p.text, what, s)
	}
}

func (p *qosParser) split(what, s string, n int) []string {
	c := strings.Split(s, ",")
	if len(c) != n {
		p.fail(what, s)
		return nil
	}
	return c
}

func (p *qosParser) number(what, s string, missing, limit uint64) uint64 {
	if s == "" {
		return missing
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil || v > limit {
		p.fail(what, s)
		return missing
	}
	return v
}

// duration reads seconds and nanoseconds.
func (p *qosParser) duration(what string, c []string) time.Duration {
	if len(c) != 2 {
		return 0
	}
	sec := p.number(what, c[0], infiniteSec, infiniteSec)
	nano := p.number(what, c[1], infiniteNano, uint64(time.Second)-1)
	// 9223372036 s leave room for no more than 854775807 ns.
	if sec == infiniteSec && nano > infiniteNano {
		p.fail(what, strings.Join(c, ","))
		return 0
	}
	return time.Duration(sec)*time.Second + time.Duration(nano)
}
