// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Reliability of a publisher or subscriber, with the numbers of rmw/types.h.
type Reliability uint8

// The reliabilities.
const (
	ReliabilityDefault Reliability = iota // reliable
	Reliable
	BestEffort
	ReliabilityUnknown
	ReliabilityBestAvailable
)

// Durability says whether late subscribers receive what was published before.
type Durability uint8

// The durabilities.
const (
	DurabilityDefault Durability = iota // volatile
	TransientLocal
	Volatile
	DurabilityUnknown
	DurabilityBestAvailable
)

// History says what is kept for a slow reader.
type History uint8

// The histories.
const (
	HistoryDefault History = iota // keep last
	KeepLast
	KeepAll
	HistoryUnknown
)

// Liveliness says how a publisher is known to be alive.
type Liveliness uint8

// The kinds of liveliness. Number 2 was taken out of ROS 2.
const (
	LivelinessDefault Liveliness = 0 // automatic
	Automatic         Liveliness = 1
	ManualByNode      Liveliness = 2
	ManualByTopic     Liveliness = 3
	LivelinessUnknown Liveliness = 4
	LivelinessBest    Liveliness = 5
)

// Infinite is a deadline, lifespan or lease that never ends.
const Infinite = time.Duration(math.MaxInt64)

// DefaultDepth stands for the depth 0.
const DefaultDepth = 42

// QoS is a quality of service. The zero value stands for reliable, volatile,
// the last [DefaultDepth] messages, nothing bounded in time: what rmw_zenoh_cpp
// makes of a profile that leaves all to the system.
type QoS struct {
	Reliability Reliability
	Durability  Durability
	History     History
	Depth       int           // messages; 0: DefaultDepth
	Deadline    time.Duration // between messages; 0: Infinite
	Lifespan    time.Duration // of a message; 0: Infinite
	Liveliness  Liveliness
	Lease       time.Duration // of the liveliness; 0: Infinite
}

// SensorData is the profile of sensors: best effort, volatile, the last five.
func SensorData() QoS { return QoS{Reliability: BestEffort, Depth: 5}.Resolved() }

// ReliableDepth is reliable, volatile, the last depth messages; with 10 it is
// the default of the client libraries.
func ReliableDepth(depth int) QoS { return QoS{Depth: depth}.Resolved() }

// Latched is reliable, and late subscribers receive the last message.
func Latched() QoS { return QoS{Durability: TransientLocal, Depth: 1}.Resolved() }

// Resolved returns q with concrete values in place of those that are left to
// the system, the way rmw_zenoh_cpp resolves them before it writes a token.
func (q QoS) Resolved() QoS {
	switch q.Reliability {
	case ReliabilityDefault, ReliabilityUnknown, ReliabilityBestAvailable:
		q.Reliability = Reliable
	}
	switch q.Durability {
	case DurabilityDefault, DurabilityUnknown, DurabilityBestAvailable:
		q.Durability = Volatile
	}
	switch q.History {
	case HistoryDefault, HistoryUnknown:
		q.History = KeepLast
	}
	switch q.Liveliness {
	case LivelinessDefault, LivelinessUnknown, LivelinessBest:
		q.Liveliness = Automatic
	}
	if q.Depth <= 0 {
		q.Depth = DefaultDepth
	}
	for _, d := range []*time.Duration{&q.Deadline, &q.Lifespan, &q.Lease} {
		if *d <= 0 {
			*d = Infinite
		}
	}
	return q
}

// String returns the text that a token holds: the resolved values, with those
// left out that are the default of rmw_zenoh_cpp, such as "2::,5:,:,:,,".
func (q QoS) String() string {
	q = q.Resolved()
	b := make([]byte, 0, 32)
	b = appendNumber(b, uint64(q.Reliability), uint64(Reliable))
	b = append(b, ':')
	b = appendNumber(b, uint64(q.Durability), uint64(Volatile))
	b = append(b, ':')
	b = appendNumber(b, uint64(q.History), uint64(KeepLast))
	b = append(b, ',')
	b = appendNumber(b, uint64(q.Depth), DefaultDepth)
	b = append(b, ':')
	b = appendDuration(b, q.Deadline)
	b = append(b, ':')
	b = appendDuration(b, q.Lifespan)
	b = append(b, ':')
	b = appendNumber(b, uint64(q.Liveliness), uint64(Automatic))
	b = append(b, ',')
	return string(appendDuration(b, q.Lease))
}

func appendNumber(b []byte, v, suppressed uint64) []byte {
	if v == suppressed {
		return b
	}
	return strconv.AppendUint(b, v, 10)
}

const (
	infiniteSec  = uint64(Infinite / time.Second)
	infiniteNano = uint64(Infinite % time.Second)
)

func appendDuration(b []byte, d time.Duration) []byte {
	b = appendNumber(b, uint64(d/time.Second), infiniteSec)
	b = append(b, ',')
	return appendNumber(b, uint64(d%time.Second), infiniteNano)
}

// Describe returns the policies in words, such as
// "best effort, volatile, keep last 5".
func (q QoS) Describe() string {
	q = q.Resolved()
	s := []string{"reliable", "volatile", "keep last " + strconv.Itoa(q.Depth)}
	if q.Reliability == BestEffort {
		s[0] = "best effort"
	}
	if q.Durability == TransientLocal {
		s[1] = "transient local"
	}
	if q.History == KeepAll {
		s[2] = "keep all"
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"deadline", q.Deadline}, {"lifespan", q.Lifespan}, {"lease", q.Lease}} {
		if d.d != Infinite {
			s = append(s, d.name+" "+d.d.String())
		}
	}
	return strings.Join(s, ", ")
}
