// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"maps"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/kinds"
)

// noKey is an option that no source can have: keys are not empty.
const noKey = ""

// CheckCamera judges the options of a camera as a start of the daemon would,
// but opens nothing, and lists every option that a camera of its kind has; none
// of the kind's own where the kind is not known. The error wraps
// [capture.ErrConfig]; in it is a [*capture.OptionsError] for the daemon's
// options and one for the kind's.
func CheckCamera(spec capture.Spec) (known []capture.Option, err error) {
	o := capture.NewOptions(capture.Spec{Kind: spec.Kind})
	readLimits(o)
	readOutputs(o, capture.Spec{Name: spec.Name, Kind: spec.Kind})
	known = o.Known()

	rest := spec
	rest.Options = maps.Clone(spec.Options)
	_, limitsErr := takeLimits(&rest)
	_, outputsErr := takeOutputs(&rest)
	_, kindErr := kinds.New(rest)

	// A source that is given a key which none has tells all that it knows.
	asked := rest
	asked.Options = map[string]string{noKey: ""}
	maps.Copy(asked.Options, rest.Options)
	_, all := kinds.New(asked)
	var account *capture.OptionsError
	if errors.As(all, &account) {
		known = append(known, account.Known...)
	}
	return known, errors.Join(limitsErr, outputsErr, kindErr)
}
