// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"bytes"
	"fmt"
	"slices"
)

// Unanswered is why a question ended early, and who had not answered until then.
// What others answered stands.
type Unanswered struct {
	By  []Link // ZID, role and endpoint of each
	Err error  // what ended the question
}

func (e *Unanswered) Error() string {
	return fmt.Sprintf("%v: %d of those asked did not answer", e.Err, len(e.By))
}

// Unwrap is what ended the question.
func (e *Unanswered) Unwrap() error { return e.Err }

// unanswered adds to err who is still to answer. The mutex that guards faces is
// held.
func unanswered(faces map[*face]struct{}, err error) error {
	if err == nil || len(faces) == 0 {
		return err
	}
	e := &Unanswered{Err: err}
	for f := range faces {
		e.By = append(e.By, f.link())
	}
	slices.SortFunc(e.By, func(a, b Link) int { return bytes.Compare(a.Remote[:], b.Remote[:]) })
	return e
}

// link is what is fixed of the connection.
func (f *face) link() Link {
	return Link{
		Remote: f.t.Remote(), Role: f.t.RemoteRole(), Endpoint: f.endpoint.String(), Accepted: f.accepted,
		QoS: f.t.QoS(), BatchSize: f.t.BatchSize(), Lease: f.t.RemoteLease(),
	}
}
