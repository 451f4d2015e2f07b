// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-3c7e7623/camd/internal/bench"
	"github.com/seed-3c7e7623/camd/internal/measure"
)

// publishCall is how long the publisher's call takes that hands a payload over.
const publishCall bench.Metric = "publish_call"

// measured is what a cell said. Rows are empty if it failed.
type measured struct {
	cell
	Started  time.Time   `json:"started"`
	Rows     []bench.Row `json:"rows,omitempty"`
	Received uint64      `json:"received"`
	Dropped  uint64      `json:"dropped"`
	Problems []string    `json:"problems,omitempty"` // of figures that are there
	Failed   string      `json:"failed,omitempty"`   // why there are none
}

// patience is how much longer than its pause a payload may take: 214 ms for
// 40.96 MB.
func patience(size int) time.Duration { return 50*time.Millisecond + 4*time.Duration(size) }

// measureCell runs one cell.
func measureCell(ctx context.Context, o Options, c cell, l *launch) (*measured, error) {
	dir, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	sub := order{
		Role: roleSubscribe, Variant: l.variant, Size: c.Size, Spacing: o.Spacing, Warmup: o.Warmup, Count: o.Samples,
		Out: filepath.Join(dir, "subscriber"),
	}
	sub.Stop = sub.Out
	pub := sub
	pub.Role, pub.Out, pub.Count = rolePublish, filepath.Join(dir, "publisher"), published(o)
	m := &measured{cell: c, Started: time.Now()}
	if l.router != nil {
		endpoint, err := freeEndpoint()
		if err != nil {
			return nil, err
		}
		router, err := start("the router", append(l.router, endpoint), nil, dir)
		if err != nil {
			return nil, err
		}
		defer router.end()
		if err := router.ready(ctx); err != nil {
			return nil, err
		}
		pub.Address = endpoint
	}
	if pub.Address, err = l.address(dir, pub.Address); err != nil {
		return nil, err
	}
	sub.Address = pub.Address
	limit := time.Duration(o.Samples+o.Warmup)*(o.Spacing+patience(c.Size)) + startTime
	if l.together != nil {
		err = l.together(ctx, dir, pub, sub, limit)
	} else {
		err = apart(ctx, dir, l, pub, sub, limit)
	}
	if err != nil {
		return nil, err
	}
	p, err := readStamps(pub.Out, 2)
	if err != nil {
		return nil, fmt.Errorf("publisher: %w", err)
	}
	s, err := readStamps(sub.Out, 3)
	if err != nil {
		return nil, fmt.Errorf("subscriber: %w", err)
	}
	r, err := result(c, o.Warmup, p, s)
	if err != nil {
		return nil, err
	}
	m.Received, m.Dropped, m.Problems = r.Received(), r.Dropped(), r.Problems
	if len(s.Rows) < o.Samples {
		m.Problems = append(m.Problems, fmt.Sprintf("only %d of %d payloads within %v", len(s.Rows), o.Samples, limit))
	}
	calls := measure.NewHistogram()
	for _, row := range p.Rows {
		calls.Record(row[1] - row[0])
	}
	rows := append(r.Rows(), bench.Row{Phase: r.Phase, Metric: publishCall, Unit: bench.Nanoseconds, Dist: calls.Distribution()})
	for _, row := range rows {
		if row.Dist.Count > 0 {
			m.Rows = append(m.Rows, row)
		}
	}
	return m, nil
}

// published is when a publisher gives up that nobody stops.
func published(o Options) int { return 4*(o.Samples+o.Warmup) + 2000 }

// apart runs a publisher, and then a subscriber.
func apart(ctx context.Context, dir string, l *launch, pub, sub order, limit time.Duration) error {
	publisher, err := start("the publisher", append(l.argv, pub.args()...), l.env, dir)
	if err != nil {
		return err
	}
	defer publisher.end()
	if err := publisher.ready(ctx); err != nil {
		return err
	}
	subscriber, err := start("the subscriber", append(l.argv, sub.args()...), l.env, dir)
	if err != nil {
		return err
	}
	defer subscriber.end()
	if err := subscriber.wait(ctx, limit); err != nil {
		// The other side may know better why.
		select {
		case <-publisher.over:
			if publisher.err != nil {
				err = fmt.Errorf("%w; %w", err, publisher.failure("failed"))
			}
		default:
		}
		return err
	}
	return publisher.wait(ctx, endTime)
}

// freePort is a port of the loopback device that nobody has at the moment.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// freeEndpoint is one as Zenoh writes it.
func freeEndpoint() (string, error) {
	address, err := freePort()
	return "tcp/" + address, err
}
