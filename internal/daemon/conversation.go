// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"time"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// Bounds of a connection that is no subscription (yet).
const (
	helloTimeout  = 2 * time.Second // from connect to the first request, and between requests
	maxRequests   = 50              // in requestWindow
	requestWindow = time.Second
)

// conversation is what one client has asked so far.
type conversation struct {
	due   time.Time // of the next request
	began time.Time // of the window
	n     int       // requests in it
}

func newConversation(now time.Time) *conversation {
	return &conversation{due: now.Add(helloTimeout)}
}

// heard judges a message. One of an unknown type is passed over and buys no
// time.
func (c *conversation) heard(t negotiate.Type, now time.Time) (answer bool, r *negotiate.Refusal) {
	if !t.Known() {
		return false, nil
	}
	if now.Sub(c.began) >= requestWindow {
		c.began, c.n = now, 0
	}
	if c.n++; c.n > maxRequests {
		return false, &negotiate.Refusal{Reason: negotiate.ReasonLimit, Text: fmt.Sprintf("more than %d requests within %v", maxRequests, requestWindow)}
	}
	return true, nil
}

// answered waits for the next request.
func (c *conversation) answered(now time.Time) { c.due = now.Add(helloTimeout) }
