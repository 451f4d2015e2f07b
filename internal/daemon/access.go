// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"strings"

	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
)

// Access is what of the streams others on the network get to see. The zero value
// lets them see everything.
type Access struct {
	Publish  Rules // pictures; names streams, or with a slash in front topics
	Announce Rules // that they are there: liveliness tokens
	Answer   Rules // what they are, to who asks: queryables
	Accept   Rules // whose subscribers may say that they are there
}

// Rules are key expressions of streams, "front/*", or where both are meant of
// topics of ROS 2, "/front/**"; nil is everything, an empty list nothing.
type Rules []string

// all is the rule for everything.
const all = "**"

// Everything is the rules that allow all.
func Everything() []string { return []string{all} }

// CheckRule says whether a rule can be one.
func CheckRule(rule string) error {
	if err := keyexpr.Validate(strings.TrimPrefix(rule, "/")); err != nil {
		return fmt.Errorf("%.64q: %w; want for example front/* or */color", rule, err)
	}
	return nil
}

// Stream says whether a stream, "camera/stream", is allowed.
func (r Rules) Stream(name string) bool {
	return r == nil || r.any(func(rule string) bool { return keyexpr.Validate(name) == nil && keyexpr.Includes(rule, name) })
}

// Topic says whether a topic, "/a/b", is allowed that belongs to a stream; "" is
// none.
func (r Rules) Topic(topic, stream string) bool {
	if r == nil || stream != "" && r.Stream(stream) {
		return true
	}
	return r.any(func(rule string) bool {
		if rule == all {
			return true
		}
		pattern, ok := strings.CutPrefix(rule, "/")
		return ok && keyexpr.Includes(pattern, strings.TrimPrefix(topic, "/"))
	})
}

func (r Rules) any(fits func(rule string) bool) bool {
	for _, rule := range r {
		if fits(rule) {
			return true
		}
	}
	return false
}

// refused says, for status, what others on the network do not get to see of a
// stream.
func (a Access) refused(stream string) (out []string) {
	for _, x := range []struct {
		key   string
		rules Rules
	}{{"announce", a.Announce}, {"answer", a.Answer}, {"accept", a.Accept}} {
		if !x.rules.Stream(stream) {
			out = append(out, x.key)
		}
	}
	return out
}

// publish says why a topic is not published; nil: it is.
func (a Access) publish(topic, stream string) error {
	if a.Publish.Topic(topic, stream) {
		return nil
	}
	return fmt.Errorf("%s: zenoh.access.publish does not name it", topic)
}
