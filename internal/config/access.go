// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"

	"github.com/seed-3c7e7623/camd/internal/daemon"
)

// Access is what of the streams others on the network get to see.
type Access struct {
	Publish  Topics  // pictures
	Announce Streams // that they are there
	Answer   Streams // what they are, to who asks
	Accept   Streams // whose subscribers may say that they are there
}

func usualAccess() Access {
	return Access{Publish: daemon.Everything(), Announce: daemon.Everything(), Answer: daemon.Everything(), Accept: daemon.Everything()}
}

// Daemon is that as the daemon takes it.
func (a Access) Daemon() daemon.Access {
	return daemon.Access{Publish: daemon.Rules(a.Publish), Announce: daemon.Rules(a.Announce), Answer: daemon.Rules(a.Answer), Accept: daemon.Rules(a.Accept)}
}

// Streams are key expressions of streams, "front/*"; none is no stream.
type Streams []string

// String joins them with commas.
func (s *Streams) String() string { return strings.Join(*s, ",") }

// Set reads them with commas between; "" is none.
func (s *Streams) Set(text string) error {
	out, err := rules(text)
	if err != nil {
		return err
	}
	for _, r := range out {
		if strings.HasPrefix(r, "/") {
			return fmt.Errorf("%q: a topic of ROS 2; want a stream, for example front/*", r)
		}
	}
	*s = Streams(out)
	return nil
}

// Topics are [Streams] and, with a slash in front, key expressions of topics of
// ROS 2.
type Topics []string

// String joins them with commas.
func (t *Topics) String() string { return strings.Join(*t, ",") }

// Set reads them with commas between; "" is none.
func (t *Topics) Set(text string) error {
	out, err := rules(text)
	if err == nil {
		*t = Topics(out)
	}
	return err
}

func rules(text string) ([]string, error) {
	out := []string{}
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		if err := daemon.CheckRule(word); err != nil {
			return nil, err
		}
		out = append(out, word)
	}
	return out, nil
}
