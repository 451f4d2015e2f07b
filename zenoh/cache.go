// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// cache keeps the last samples of a publisher for subscribers that come late
// and ask for history: zenoh-ext's advanced subscribers, and so ROS 2's
// TRANSIENT_LOCAL.
//
// All of it happens under one key, KEY/@adv/pub/ZID/EID/_: a queryable that
// answers with the samples, and a token by which subscribers find it. Each
// sample says its number (SourceInfo) and its time.
type cache struct {
	s         *Session
	eid       uint32
	queryable *Queryable
	token     *Token

	// mu also orders puts: numbers go out in their order.
	mu   sync.Mutex
	next uint32
	vals []Sample // circular
	head int      // the oldest, once it is full
}

func (s *Session) newCache(key string, eid uint32, n int) (*cache, error) {
	c := &cache{s: s, eid: eid, vals: make([]Sample, 0, n)}
	name := key + "/@adv/pub/" + s.zid.String() + "/" + strconv.FormatUint(uint64(eid), 10) + "/_"
	var err error
	if c.queryable, err = s.Queryable(name, &QueryableOptions{Handler: Handler[*Query]{Callback: c.answer}}); err != nil {
		return nil, err
	}
	if c.token, err = s.Token(name); err != nil {
		_ = c.queryable.Close()
		return nil, err
	}
	return c, nil
}

// stamp gives a sample its number and time, with mu held.
func (c *cache) stamp(o *PutOptions) {
	o.Source = SourceInfo{ZID: c.s.zid, EID: c.eid, SN: c.next}
	c.next++
	if o.Timestamp.IsZero() {
		o.Timestamp = c.s.clock.stamp()
	}
}

// keep copies a sample into the cache, with mu held.
func (c *cache) keep(key string, kind Kind, payload []byte, o *PutOptions) {
	v := Sample{
		Key: key, Kind: kind, Payload: payload, Encoding: o.Encoding, Attachment: o.Attachment,
		Timestamp: o.Timestamp, Source: o.Source,
	}
	v.copy(&c.s.pool, o.Prefix)
	if len(c.vals) < cap(c.vals) {
		c.vals = append(c.vals, v)
		return
	}
	c.vals[c.head].Release()
	c.vals[c.head] = v
	c.head = (c.head + 1) % len(c.vals)
}

// history is what a query asks for.
type history struct {
	last      int // at most so many, the newest
	low, high uint32
	since     uint64 // NTP64
}

// parseHistory reads the parameters _max, _sn and _time. What cannot be read
// limits nothing: too much history is better than none.
func parseHistory(params string, now time.Time) history {
	h := history{last: math.MaxInt, high: math.MaxUint32}
	for part := range strings.SplitSeq(params, ";") {
		name, v, _ := strings.Cut(part, "=")
		switch name {
		case "_max":
			if n, err := strconv.Atoi(v); err == nil && n >= 0 {
				h.last = n
			}
		case "_sn":
			from, to, ranged := strings.Cut(v, "..")
			if !ranged {
				to = from
			}
			if n, err := strconv.ParseUint(from, 10, 32); err == nil {
				h.low = uint32(n)
			}
			if n, err := strconv.ParseUint(to, 10, 32); err == nil {
				h.high = uint32(n)
			}
		case "_time":
			h.since = parseSince(v, now)
		}
	}
	return h
}

// parseSince reads the start of a range of time, "[now(-1.5s)..]" or
// "[2026-01-02T15:04:05Z..]"; 0: none.
func parseSince(v string, now time.Time) uint64 {
	from, _, _ := strings.Cut(strings.Trim(v, "[]"), "..")
	if t, err := time.Parse(time.RFC3339Nano, from); err == nil {
		return wire.NTP64(t)
	}
	if from == "now()" {
		return wire.NTP64(now)
	}
	offset, ok := strings.CutPrefix(from, "now(")
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(strings.TrimSuffix(offset, ")"))
	if err != nil {
		return 0
	}
	return wire.NTP64(now.Add(d))
}

// answer sends the samples that a query asks for, the oldest first.
func (c *cache) answer(q *Query) {
	h := parseHistory(q.Parameters, c.s.clock.now())
	c.mu.Lock()
	var out []Sample
	for i := range c.vals {
		v := &c.vals[(c.head+i)%len(c.vals)]
		if v.Source.SN >= h.low && v.Source.SN <= h.high && v.Timestamp.NTP64 >= h.since {
			out = append(out, v.share())
		}
	}
	c.mu.Unlock()
	skip := max(len(out)-h.last, 0)
	for i := range out {
		v := &out[i]
		if i >= skip {
			o := &ReplyOptions{Encoding: v.Encoding, Attachment: v.Attachment, Timestamp: v.Timestamp, Source: v.Source}
			m := v.response(o)
			if err := q.send(context.Background(), &m, v.Key, o); err != nil {
				c.s.log.Debug("zenoh history not sent", "key", v.Key, "err", err)
			}
		}
		v.Release()
	}
}

func (s *Sample) response(o *ReplyOptions) wire.Response {
	return wire.Response{Data: wire.Data{
		Del: s.Kind == Delete, Payload: s.Payload, Encoding: o.Encoding, Attachment: o.Attachment,
		Timestamp: o.Timestamp, Source: o.Source,
	}}
}

func (c *cache) close() {
	_ = c.token.Close()
	_ = c.queryable.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.vals {
		c.vals[i].Release()
	}
	c.vals = c.vals[:0:0]
}
