// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestPacer(t *testing.T) {
	at := time.Unix(1000, 0)
	const ms = time.Millisecond
	cases := map[string]struct {
		packets int
		every   time.Duration
		held    int           // packets held back
		wait    time.Duration // in all
	}{
		"one window full":       {pacePackets, 0, 0, 0},
		"one too many":          {pacePackets + 1, 0, 1, 10 * ms},
		"ten windows at once":   {10 * pacePackets, 0, 9, 90 * ms},
		"just as many as may":   {10000, 100 * time.Microsecond, 0, 0},
		"a frame every ms":      {1000, ms, 0, 0},
		"twice as many as may":  {10000, 50 * time.Microsecond, 99, 99 * 5 * ms},
		"one that comes rarely": {10, time.Hour, 0, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var p pacer
			now, held, wait := at, 0, time.Duration(0)
			for range c.packets {
				if w := p.take(now, pacePackets); w > 0 {
					held++
					wait += w
					now = now.Add(w)
				}
				now = now.Add(c.every)
			}
			if held != c.held || wait != c.wait {
				t.Errorf("%d packets held back for %v, want %d for %v", held, wait, c.held, c.wait)
			}
		})
	}
}

// A flood is read to its end: nothing of it is lost, and nobody is cut off.
func TestFloodOfKicks(t *testing.T) {
	bare, daemon := hostile(t, daemonSide)
	const kicks = 5 * pacePackets
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for range kicks {
			sendBare(t, bare, string(kickPacket))
		}
	}()
	for i := range kicks {
		if m, _, err := daemon.Receive(soon()); err != nil || m != kickMessage {
			t.Fatalf("packet %d: %v, %v", i, m, err)
		}
	}
	<-sent
}

// A daemon passes over a few messages of later versions, a client over all.
func TestUnknownTypes(t *testing.T) {
	for _, c := range []struct {
		name string
		to   side
		most int // 0 = any number
	}{
		{"daemon", daemonSide, MaxUnknown},
		{"client", clientSide, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			bare, conn := hostile(t, c.to)
			const packet = `{"type":"zoom"}`
			for i := range 2 * MaxUnknown {
				sendBare(t, bare, string(kickPacket)) // known ones between do not help
				sendBare(t, bare, packet)
				if m, _, err := conn.Receive(soon()); err != nil || m.Type != TypeKick {
					t.Fatalf("a kick: %v, %v", m, err)
				}
				m, _, err := conn.Receive(soon())
				if c.most > 0 && i >= c.most {
					if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), "more than 16 messages of unknown types") {
						t.Fatalf("unknown message %d: %v, want %v", i+1, err, ErrProtocol)
					}
				} else if err != nil || m.Type != "zoom" {
					t.Fatalf("unknown message %d: %v, %v", i+1, m, err)
				}
			}
		})
	}
}

func TestClientSendsNoMoreThanIsAccepted(t *testing.T) {
	client, daemon := connected(t)
	long := strings.Repeat("<", maxText) // six bytes each in JSON
	m := &Message{Type: TypeReject, Reject: &Refusal{Reason: ReasonLimit, Text: long, Rejected: []Rejected{{BackendSHM, ReasonPolicy, long}}}}
	if err := client.Send(m); !errors.Is(err, ErrMessage) {
		t.Errorf("client: %v, want %v", err, ErrMessage)
	}
	if err := daemon.Send(m); err != nil {
		t.Errorf("daemon: %v", err)
	}
}
