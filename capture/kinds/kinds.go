// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package kinds knows every kind of camera: the one place that turns a
// [capture.Spec] into its source.
package kinds

import (
	"fmt"
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/mjpeg"
	"github.com/seed-3c7e7623/camd/capture/pattern"
	"github.com/seed-3c7e7623/camd/capture/replay"
	"github.com/seed-3c7e7623/camd/capture/v4l2"
)

// Names lists the kinds, in the order of documentation.
func Names() []string { return []string{"pattern", "replay", "v4l2"} }

// Streams lists the streams that a camera of a kind may have; nil if the kind is
// not known.
func Streams(kind string) []string {
	switch kind {
	case "pattern":
		return []string{pattern.Stream}
	case "replay":
		return []string{replay.Stream, replay.Stream + mjpeg.Suffix}
	case "v4l2":
		return []string{v4l2.Stream, v4l2.Stream + mjpeg.Suffix}
	}
	return nil
}

// New makes the source that spec asks for. Nothing is opened yet. An unknown
// kind and options that make no sense are [capture.ErrConfig].
func New(spec capture.Spec) (capture.Source, error) {
	src, err := build(spec)
	if err != nil {
		return nil, fmt.Errorf("camera %s: %w", spec.Name, err)
	}
	return src, nil
}

func build(spec capture.Spec) (capture.Source, error) {
	// A nil pointer must not become a source that is not nil.
	switch spec.Kind {
	case "pattern":
		if s, err := pattern.New(spec); err != nil {
			return nil, err
		} else {
			return s, nil
		}
	case "replay":
		if s, err := replay.New(spec); err != nil {
			return nil, err
		} else {
			return s, nil
		}
	case "v4l2":
		if s, err := v4l2.New(spec); err != nil {
			return nil, err
		} else {
			return s, nil
		}
	}
	hint := ""
	if n := capture.Nearest(spec.Kind, Names()); n != "" {
		hint = "; did you mean " + n + "?"
	}
	return nil, fmt.Errorf("%w: unknown kind %q (known are %s)%s", capture.ErrConfig, spec.Kind, strings.Join(Names(), ", "), hint)
}
