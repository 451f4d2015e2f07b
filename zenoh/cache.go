// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// beatPeriod is how often a publisher with a cache says at most which number was
// its last.
const beatPeriod = 500 * time.Millisecond

// cache keeps the last samples of a publisher for subscribers that come late
// and ask for history: zenoh-ext's advanced subscribers, and so ROS 2's
// TRANSIENT_LOCAL.
//
// All of it happens under one key, KEY/@adv/pub/ZID/EID/_: a queryable that
// answers with the samples, a token by which subscribers find it, and the
// heartbeat: the last number, from which who missed the end of what was
// published learns of it and asks for that. Each sample says its number
// (SourceInfo) and its time. One of a publisher with best effort says its time
// only, and the key has uhlc in place of the EID: there is no heartbeat.
type cache struct {
	s         *Session
	eid       uint32
	numbered  bool
	queryable *Queryable
	token     *Token
	beat      *Publisher // of the heartbeat; nil: none
	ctx       context.Context
	cancel    context.CancelFunc

	// mu also orders puts: numbers go out in their order.
	mu    sync.Mutex
	next  uint32
	vals  []Sample // circular
	head  int      // the oldest, once it is full
	timer *time.Timer
	armed bool // a heartbeat is to come
}

func (s *Session) newCache(p *Publisher) (*cache, error) {
	c := &cache{s: s, eid: p.id, numbered: p.o.QoS.Reliability == Reliable, vals: make([]Sample, 0, p.o.Cache)}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	id := "uhlc"
	if c.numbered {
		id = strconv.FormatUint(uint64(c.eid), 10)
	}
	name := p.key + "/@adv/pub/" + s.zid.String() + "/" + id + "/_"
	err := c.declare(name, p.o)
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *cache) declare(name string, o PublisherOptions) (err error) {
	if c.queryable, err = c.s.Queryable(name, &QueryableOptions{Handler: Handler[*Query]{Callback: c.answer}, MaxQuery: minExpected}); err != nil {
		return err
	}
	if c.numbered {
		q := QoS{Priority: o.QoS.Priority, Congestion: CongestionBlock}
		if c.beat, err = c.s.Publisher(name, &PublisherOptions{QoS: q, Destination: o.Destination}); err != nil {
			return err
		}
	}
	c.token, err = c.s.Token(name)
	return err
}

// stamp gives a sample its number and time, with mu held.
func (c *cache) stamp(o *PutOptions) {
	o.Source = SourceInfo{}
	if c.numbered {
		o.Source = SourceInfo{ZID: c.s.zid, EID: c.eid, SN: c.next}
		c.next++
		c.arm()
	}
	if o.Timestamp.IsZero() {
		o.Timestamp = c.s.clock.stamp()
	}
}

// arm sees to a heartbeat, with mu held.
func (c *cache) arm() {
	if c.armed || c.ctx.Err() != nil {
		return
	}
	c.armed = true
	if c.timer == nil {
		c.timer = time.AfterFunc(beatPeriod, c.pulse)
	} else {
		c.timer.Reset(beatPeriod)
	}
}

// pulse is a heartbeat. There is one at a time: it may wait for room.
func (c *cache) pulse() {
	c.mu.Lock()
	next := c.next
	c.mu.Unlock()
	number := binary.LittleEndian.AppendUint32(nil, next-1)
	if err := c.beat.Put(c.ctx, number, nil); err != nil && c.ctx.Err() == nil {
		c.s.log.Debug("zenoh heartbeat not sent", "key", c.beat.key, "err", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = false
	if c.next != next {
		c.arm()
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
	c.cancel()
	if c.token != nil {
		_ = c.token.Close()
	}
	if c.beat != nil {
		_ = c.beat.Close()
	}
	if c.queryable != nil {
		_ = c.queryable.Close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	for i := range c.vals {
		c.vals[i].Release()
	}
	c.vals = c.vals[:0:0]
}
